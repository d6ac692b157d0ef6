import CrashProtocol
import CrashReport
import FoundationEssentials

/// A report and its raw record (the copy of the ring), encoded and limited in size.
///
/// If the report and the raw record are too large, the least important parts are dropped.
///
/// The raw record is dropped first, although crashd needs it to analyze the crash again. If the report is still too
/// large, the threads that did not crash are dropped, and finally the requests in flight. The report still contains the
/// number of these requests.
struct SizedReport {
  private(set) var report: CrashReport
  private(set) var json: Data
  private(set) var raw: [UInt8]

  init(_ report: CrashReport, raw: [UInt8], limitBytes: Int) throws {
    self.report = report
    self.raw = raw
    // If the list of requests is empty and its total is not 0, an earlier revision of this report was too large, and
    // lost the list.
    if let inFlight = report.inFlight, inFlight.requests.isEmpty, inFlight.total > 0 {
      self.report.losses["requestsTooLarge"] = inFlight.total
    }
    json = try JSONFragment(self.report).bytes
    guard json.count + raw.count > limitBytes else { return }
    self.raw = []
    self.report.losses["rawRecord"] = 1
    let others = report.threads.count { !$0.crashed }
    if json.count > limitBytes, others > 0 {
      self.report.threads.removeAll { !$0.crashed }
      self.report.losses["threadsTooLarge"] = others
    }
    json = try JSONFragment(self.report).bytes
    guard json.count > limitBytes, let requests = self.report.inFlight?.requests, !requests.isEmpty else { return }
    self.report.inFlight?.requests = []
    self.report.losses["requestsTooLarge"] = requests.count
    json = try JSONFragment(self.report).bytes
  }

  /// Returns the same report, marked as restricted because its process had more privileges than its user.
  ///
  /// The size limit is not checked again, because the mark adds only a few bytes.
  func restricted() throws -> SizedReport {
    var sized = self
    sized.report.process.isRestricted = true
    sized.json = try JSONFragment(sized.report).bytes
    return sized
  }
}
