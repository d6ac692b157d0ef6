import Glibc

/// Decides when the raised protection level is no longer needed.
public struct StopRule: Sendable, Hashable, Codable {
  /// The groups of the hits (detected accesses) since the level was raised; a group has one class, access kind and call
  /// site.
  public private(set) var coverage = GroupCoverage()
  /// The evidence that accesses have become rarer since the level was raised.
  public private(set) var drop = RateDrop()
  /// The time at which the level was raised, in seconds since 1970.
  public let start_s: Double
  /// The assumed rate of use-after-free accesses per day at the time of the alarm.
  public let raisedRate_perDay: Double

  /// Creates the rule at the time when the level is raised.
  ///
  /// At an alarm, the detector tends to overestimate the rise. Therefore, the rule assumes only half of the estimated
  /// rise. The lower rate is the cautious choice: to detect a drop from it, the rule needs more evidence.
  public init(at time_s: Double, usualRate_perDay: Double, rise: Double) {
    start_s = time_s
    raisedRate_perDay = usualRate_perDay.amount * max(1, rise.amount / 2)
  }

  /// Adds a hit that occurred while the level is raised.
  public mutating func observe(group: String) {
    coverage.add(group: group)
    drop.observe(expectedAtRaisedRate: 0, events: 1)
  }

  /// Adds a crash that occurred although the level is raised.
  public mutating func observeCrash() { drop.observe(expectedAtRaisedRate: 0, events: 1) }

  /// Adds a period of time in which processes of the service ran.
  public mutating func observe(days: Double) {
    drop.observe(expectedAtRaisedRate: raisedRate_perDay * days.amount, events: 0)
  }

  /// Returns the reason to end the raised level; nil if the level must stay raised.
  public func reason(at time_s: Double, rules: ProtectionRules) -> PolicyEvent.Reason? {
    if coverage.runSinceNewGroup >= max(1, rules.enoughHitsWithoutNewGroup) {
      return .enoughSeen(hits: coverage.hits, groups: coverage.groups, run: coverage.runSinceNewGroup)
    }
    if drop.value >= rules.dropThreshold { return .accessesDropped(value: drop.value, hits: coverage.hits) }
    let days = (time_s - start_s) / 86_400
    return days >= rules.raisedAtMost_days ? .timeOver(days: days) : nil
  }
}

/// Detects that events have become rarer, for example after a fix.
///
/// The method is an e-process against the hypothesis that the rate is still the raised rate. If the rate is at least
/// the raised rate, the probability that `value` ever exceeds 1/α is at most α.
public struct RateDrop: Sendable, Hashable, Codable {
  /// The factor of the drop for which the e-process is designed: a drop to a fifth of the rate.
  ///
  /// A larger drop is detected earlier than the designed drop, and a smaller drop is detected later.
  public static let designedDrop = 5.0

  private var logValue = 0.0

  /// Makes an e-process without observations.
  public init() {}

  /// The e-value: how many times better the designed drop explains the events than the unchanged rate does.
  public var value: Double { exp(min(logValue, 600)) }

  /// Adds a period of time: the number of events that are expected at the raised rate, and the actual number of events.
  public mutating func observe(expectedAtRaisedRate: Double, events: Double) {
    let expected = expectedAtRaisedRate.amount
    logValue += expected * (1 - 1 / Self.designedDrop) - events.amount * log(Self.designedDrop)
  }
}
