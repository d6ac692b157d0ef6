import CrashProtocol
import CrashReport
import FoundationEssentials

/// A report as it is written: one that is too large loses its least important parts.
///
/// The raw record is dropped first, although it allows another analysis; then the threads that did not crash.
struct SizedReport {
  private(set) var report: CrashReport
  private(set) var json: Data
  private(set) var raw: [UInt8]

  init(_ report: CrashReport, raw: [UInt8], limitBytes: Int) throws {
    self.report = report
    self.raw = raw
    json = try JSONFragment(report).bytes
    guard json.count + raw.count > limitBytes else { return }
    self.raw = []
    self.report.losses["rawRecord"] = 1
    let others = report.threads.count { !$0.crashed }
    if json.count > limitBytes, others > 0 {
      self.report.threads.removeAll { !$0.crashed }
      self.report.losses["threadsTooLarge"] = others
    }
    json = try JSONFragment(self.report).bytes
  }

  /// The same report as one of a process with more rights than its user; some bytes more are no reason to drop a part.
  func restricted() throws -> SizedReport {
    var sized = self
    sized.report.process.isRestricted = true
    sized.json = try JSONFragment(sized.report).bytes
    return sized
  }
}
