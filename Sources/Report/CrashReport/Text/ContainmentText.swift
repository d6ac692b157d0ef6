extension CrashReport {
  /// A text that describes how containment reacted to the crash.
  ///
  /// For example, the text is `Drained: 50 requests finished, 0 lost, in 0.23 s; the process then ended by SIGILL.` The
  /// value is nil if containment was off, or if there is nothing to say.
  package var containmentText: String? {
    guard let containment else { return nil }
    let sentences = [
      notContained(containment), containment.drain.map(drained), Self.contained(containment.contained),
    ].compactMap(\.self)
    return sentences.isEmpty ? nil : sentences.joined(separator: " ")
  }

  /// Returns why the trap was not contained; nil if no reason needs to be stated.
  ///
  /// A drain in the mode `drain` needs no reason.
  private func notContained(_ containment: Containment) -> String? {
    guard let verdict = containment.verdict, verdict != .contain else { return nil }
    if verdict == .drain && containment.mode == .drain { return nil }
    guard let reason = containment.reason else { return nil }
    let clause = containment.obstacle.map(\.clause) ?? reason.clause
    return "Not \(containment.mode == .drain ? "drained" : "contained"): \(clause)."
  }

  private func drained(_ drain: Containment.Drain) -> String {
    guard let end = drain.endedBy else {
      return "Draining: the requests in flight had not ended when crashd last read the process."
    }
    if end == .interrupted {
      return "The drain did not end: the process was killed, or called _exit(), while requests were in flight."
    }
    let requests = "\(counted(drain.finished, "request")) finished, \(drain.lost) lost"
    let time = drain.durationNanoseconds.map { ", in \(Self.seconds($0))" } ?? ""
    let why = end == .done ? "" : ". The drain ended because \(end.clause)"
    return "Drained: \(requests)\(time)\(why); the process then ended by \(CleanText.line(signal.name))."
  }

  private static func contained(_ count: Int) -> String? {
    count > 0 ? "Contained before: \(counted(count, "trap"))." : nil
  }

  /// Formats a duration in seconds, such as `0.23 s` or `12.0 s`.
  private static func seconds(_ nanoseconds: Int) -> String {
    let hundredths = max(0, nanoseconds) / 10_000_000
    let (seconds, rest) = (hundredths / 100, hundredths % 100)
    return seconds < 10 ? "\(seconds).\(rest < 10 ? "0" : "")\(rest) s" : "\(seconds).\(rest / 10) s"
  }
}

extension CrashReport.Containment.End {
  /// The cause for which the drain ended, as a clause.
  fileprivate var clause: String {
    switch self {
    case .deadline: "the grace period was over"
    case .stall: "no request made progress"
    case .secondCrash: "another crash followed"
    case .exit: "the program called exit()"
    case .waiter: "requests waited for a lock that a trapped thread holds"
    default: "of \(CleanText.line(rawValue))"
    }
  }
}
