import CrashReport

/// Decides which crashes the fleet receives as whole reports; the other crashes are only counted.
///
/// A bad deploy crashes thousands of processes in the same way. The first reports of a group show the cause, and one
/// report per hour shows whether the cause is still the same.
struct FleetPolicy {
  /// The first crashes of a group in a build, up to this number, are sent as whole reports.
  static let first = 3
  /// The maximum number of groups that the policy remembers.
  ///
  /// At this limit, the policy forgets all groups, and their next crashes are sent as whole reports again.
  private static let limit = 4_096

  private struct Key: Hashable {
    var group: String
    var program: String
    var build: String
  }

  private struct Sent {
    var count: Int
    var hour: UInt64
  }

  private var sent: [Key: Sent] = [:]
  private var pace: Pace

  /// - Parameter perMinute: The rate limit of whole reports. Crashes above this limit are only counted.
  init(perMinute: Int) { pace = Pace(perMinute: perMinute) }

  /// Returns whether the fleet receives this crash as a whole report.
  ///
  /// If the result is true, the policy remembers the crash as sent.
  ///
  /// If the fleet asked for the report (`isAsked`), only the rate limit can make the result false.
  mutating func sendsWhole(_ report: CrashReport, isAsked: Bool = false, at now: ContinuousClock.Instant) -> Bool {
    let key = Key(group: report.group.key, program: report.process.name, build: report.process.buildID)
    let hour = FleetCounters.hour(of: report)
    let known = sent[key]
    if !isAsked, let known, known.count >= Self.first, known.hour == hour { return false }
    var trial = pace
    guard trial.delay(at: now) == .zero else { return false }
    pace = trial
    if known == nil, sent.count >= Self.limit { sent.removeAll() }
    sent[key] = Sent(count: (known?.count ?? 0) + 1, hour: hour)
    return true
  }
}
