import CrashReport
import CrashRing

// The requests of a report.
extension ReportBuilder {
  /// Returns a request with its age at `time_ns`, in nanoseconds since 1970.
  func request(_ request: RingContents.Request, at time_ns: UInt64) -> CrashReport.Request {
    let age = time_ns > request.startTime_ns ? time_ns - request.startTime_ns : 0
    let text = { (text: String) in text.isEmpty ? nil : text }
    return CrashReport.Request(
      number: Int(clamping: request.number), operation: request.operation, id: text(request.id),
      traceID: text(request.traceID), spanID: text(request.spanID),
      startTime: Moment(nanoseconds: request.startTime_ns).description, age_ns: Int(clamping: age),
      tags: request.tags.isEmpty ? nil : request.tags)
  }

  /// Adds the requests in flight and the numbers of requests.
  ///
  /// A re-analysis keeps the requests of the first analysis, because these were running at the time of the crash.
  /// - Parameters:
  ///   - report: The report, with its threads.
  ///   - time_ns: The time of the crash or the end, in nanoseconds since 1970.
  func putRequests(into report: inout CrashReport, at time_ns: UInt64) {
    let counts = contents.requests.counts
    if !counts.isEmpty {
      report.process.requests = CrashReport.RequestCounts(
        begun: Int(clamping: counts.begun), finished: Int(clamping: counts.finished),
        failed: Int(clamping: counts.failed), lost: Int(clamping: counts.unended),
        isLookupRefused: counts.isLookupRefused ? true : nil)
      let running = contents.requests.running
      report.inFlight = CrashReport.InFlight(
        total: running.count, overflow: Int(clamping: counts.overflow),
        requests: running.map { request($0, at: time_ns) })
    }
    if let earlier = context.requests {
      (report.process.requests, report.inFlight) = (earlier.counts, earlier.inFlight)
    }
    let crashed = Set(report.threads.compactMap(\.request?.number))
    for (index, request) in (report.inFlight?.requests ?? []).enumerated() {
      report.inFlight?.requests[index].crashed = crashed.contains(request.number) ? true : nil
    }
  }
}
