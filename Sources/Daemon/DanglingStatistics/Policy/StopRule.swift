import Glibc

/// Decides when a raised level is no longer needed.
public struct StopRule: Sendable, Hashable, Codable {
  /// The groups of hits since the level was raised.
  public private(set) var coverage = GroupCoverage()
  /// The evidence that accesses became rarer.
  public private(set) var drop = RateDrop()
  /// The time at which the level was raised, in seconds since 1970.
  public let start_s: Double
  /// The assumed raised rate, in use-after-free accesses per day.
  public let raisedRate_perDay: Double

  /// Starts the rule when the level is raised.
  ///
  /// The detector tends to overestimate a rise at the time of its alarm, so half of its estimate is used. This is
  /// cautious, because a drop from a lower rate needs more evidence.
  public init(at time_s: Double, usualRate_perDay: Double, rise: Double) {
    start_s = time_s
    raisedRate_perDay = usualRate_perDay.amount * max(1, rise.amount / 2)
  }

  /// Adds a hit.
  public mutating func observe(group: String) {
    coverage.add(group: group)
    drop.observe(expectedAtRaisedRate: 0, events: 1)
  }

  /// Adds a crash that happened despite the protection.
  public mutating func observeCrash() { drop.observe(expectedAtRaisedRate: 0, events: 1) }

  /// Adds time in which processes ran.
  public mutating func observe(days: Double) {
    drop.observe(expectedAtRaisedRate: raisedRate_perDay * days.amount, events: 0)
  }

  /// The reason to stop, if there is one.
  public func reason(at time_s: Double, rules: ProtectionRules) -> PolicyEvent.Reason? {
    if coverage.runSinceNewGroup >= max(1, rules.enoughHitsWithoutNewGroup) {
      return .enoughSeen(hits: coverage.hits, groups: coverage.groups, run: coverage.runSinceNewGroup)
    }
    if drop.value >= rules.dropThreshold { return .accessesDropped(value: drop.value, hits: coverage.hits) }
    let days = (time_s - start_s) / 86_400
    return days >= rules.raisedAtMost_days ? .timeOver(days: days) : nil
  }
}

/// Detects that events became rarer, for example after a fix, by an e-process against the hypothesis that the rate is
/// unchanged.
///
/// While the rate is at least the raised rate, the value ever exceeds 1/α with a probability of at most α.
public struct RateDrop: Sendable, Hashable, Codable {
  /// The drop for which the e-process is designed, to a fifth of the rate.
  ///
  /// Larger drops are detected sooner, and smaller drops later.
  public static let designedDrop = 5.0

  private var logValue = 0.0

  /// Makes a process without observations.
  public init() {}

  /// How many times better the designed drop explains the events than the old rate does.
  public var value: Double { exp(min(logValue, 600)) }

  /// Adds a stretch of time, with the events that the raised rate would have caused and the actual events.
  public mutating func observe(expectedAtRaisedRate: Double, events: Double) {
    let expected = expectedAtRaisedRate.amount
    logValue += expected * (1 - 1 / Self.designedDrop) - events.amount * log(Self.designedDrop)
  }
}
