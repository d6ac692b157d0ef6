import Glibc

/// Decides when a raised level is not needed any more.
public struct StopRule: Sendable, Hashable, Codable {
  /// The groups of the hits since the level was raised.
  public private(set) var coverage = GroupCoverage()
  /// The evidence that accesses have become rarer.
  public private(set) var drop = RateDrop()
  /// The time at which the level was raised, in seconds since 1970.
  public let start_s: Double
  /// The assumed rate during the rise, in use-after-free accesses per day.
  public let raisedRate_perDay: Double

  /// Starts the rule when the level is raised.
  ///
  /// At the time of its alarm, the detector tends to overestimate a rise. Therefore, only half of the estimate is used.
  /// This is cautious, because from a lower rate, more evidence is needed to detect a drop.
  public init(at time_s: Double, usualRate_perDay: Double, rise: Double) {
    start_s = time_s
    raisedRate_perDay = usualRate_perDay.amount * max(1, rise.amount / 2)
  }

  /// Adds a hit.
  public mutating func observe(group: String) {
    coverage.add(group: group)
    drop.observe(expectedAtRaisedRate: 0, events: 1)
  }

  /// Adds a crash that happened although the level is raised.
  public mutating func observeCrash() { drop.observe(expectedAtRaisedRate: 0, events: 1) }

  /// Adds a period of time in which processes ran.
  public mutating func observe(days: Double) {
    drop.observe(expectedAtRaisedRate: raisedRate_perDay * days.amount, events: 0)
  }

  /// Returns the reason to end the raised level; nil if it must not end yet.
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
/// The method is an e-process against the hypothesis that the rate is unchanged. While the rate is at least the raised
/// rate, the probability that the value ever exceeds 1/α is at most α.
public struct RateDrop: Sendable, Hashable, Codable {
  /// The factor of the drop for which the e-process is designed: a drop to a fifth of the rate.
  ///
  /// Larger drops are detected earlier, and smaller drops are detected later.
  public static let designedDrop = 5.0

  private var logValue = 0.0

  /// Makes an e-process without observations.
  public init() {}

  /// How many times better the designed drop explains the events than the unchanged rate does.
  public var value: Double { exp(min(logValue, 600)) }

  /// Adds a period of time, with the number of events that the raised rate would cause and the actual number of events.
  public mutating func observe(expectedAtRaisedRate: Double, events: Double) {
    let expected = expectedAtRaisedRate.amount
    logValue += expected * (1 - 1 / Self.designedDrop) - events.amount * log(Self.designedDrop)
  }
}
