import CrashReport
import CrashRing

extension CrashReport.Request {
  /// Creates a request with its age at `time_ns`, in nanoseconds since 1970.
  init(_ request: RingContents.Request, at time_ns: UInt64) {
    let age = time_ns > request.startTime_ns ? time_ns - request.startTime_ns : 0
    let text = { (text: String) in text.isEmpty ? nil : text }
    self.init(
      number: Int(clamping: request.number), operation: request.operation, id: text(request.id),
      traceID: text(request.traceID), spanID: text(request.spanID),
      startTime: Moment(nanoseconds: request.startTime_ns).description, age_ns: Int(clamping: age),
      tags: request.tags.isEmpty ? nil : request.tags)
  }
}

// Adds the requests of the process to a report, and describes how containment reacted to the crash. With containment, a
// trap ends its request instead of the process. During a drain, the process finishes its other requests before it ends.
extension ReportBuilder {
  /// Adds the requests in flight and the numbers of requests.
  ///
  /// A re-analysis keeps the requests in flight of the first analysis, because these were running at the time of the
  /// crash. The numbers of requests are updated, because they change until the end of a drain.
  /// - Parameters:
  ///   - report: The report, with its threads.
  ///   - time_ns: The time of the crash or the end, in nanoseconds since 1970.
  func putRequests(into report: inout CrashReport, at time_ns: UInt64) {
    let crashed = Set(report.threads.compactMap(\.request?.number))
    let counts = contents.requests.counts
    if !counts.isEmpty {
      report.process.requests = CrashReport.RequestCounts(
        begun: Int(clamping: counts.begun), finished: Int(clamping: counts.finished),
        failed: Int(clamping: counts.failed), lost: Int(clamping: counts.unended),
        isLookupRefused: counts.isLookupRefused ? true : nil)
      // Add the trapped requests in which a thread of this report crashed, because a trap marks its own request as
      // trapped. Exclude the other trapped requests: most of them ended by a trap that was contained before the crash.
      let trapped = contents.requests.trapped.filter { crashed.contains(Int(clamping: $0.number)) }
      let requests = (contents.requests.running + trapped)
        .sorted { ($0.startTime_ns, $0.number) < ($1.startTime_ns, $1.number) }
      report.inFlight = CrashReport.InFlight(
        total: requests.count, overflow: Int(clamping: counts.overflow),
        requests: requests.map { CrashReport.Request($0, at: time_ns) })
    }
    if let earlier = context.requests {
      report.inFlight = earlier.inFlight
      if contents.containment?.drain == nil || counts.isEmpty { report.process.requests = earlier.counts }
    }
    for (index, request) in (report.inFlight?.requests ?? []).enumerated() {
      report.inFlight?.requests[index].crashed = crashed.contains(request.number) ? true : nil
    }
  }

  /// Adds how containment reacted to the crash.
  /// - Parameters:
  ///   - report: The report.
  ///   - record: The record of the first crashed thread; nil if no thread crashed.
  func putContainment(into report: inout CrashReport, _ record: CrashRecord?) {
    guard let containment = contents.containment else { return }
    // In the mode `drain`, the signal handler records the reason `budget`, because the budget of contained traps is 0
    // in this mode. Omit this reason, because the mode already explains why the process drains.
    let reason = record?.verdictReason
    let isByMode = containment.mode == .drain && reason == .budget
    // A missing record means that the report is about an unreported exit during a drain.
    let isInterrupted = hasInterruptedDrain || record == nil
    report.containment = CrashReport.Containment(
      mode: containment.mode, verdict: record?.verdict, reason: isByMode ? nil : reason, obstacle: containment.obstacle,
      budget: Int(containment.budget), contained: Int(containment.contained),
      drain: containment.drain.map { drain in
        CrashReport.Containment.Drain(
          endedBy: drain.end ?? (isInterrupted ? .interrupted : nil), finished: Int(drain.finished),
          lost: Int(drain.lost),
          durationNanoseconds: drain.duration_ns.map { Int(clamping: $0) })
      })
  }
}
