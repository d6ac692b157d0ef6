import Glibc

/// Judges whether a new build crashes more often than an old build, from the counts of each hour.
///
/// The result is the e-value of `BuildComparison`. For an hour in which another build ran for at least half of the new
/// build's running time, the comparison uses the counts of both builds in this hour. A fault that affects both builds
/// equally is therefore no evidence. For the other hours of the new build, the comparison uses the counts of the old
/// build before the rollout.
public struct RolloutComparison: Sendable, Equatable {
  /// The counts of one build in one hour.
  public struct Hour: Sendable, Equatable {
    /// The number of hours between 1970-01-01 UTC and this hour.
    public var hour: Int
    /// The total running time of the build's processes, in seconds.
    public var seconds: Double
    /// The part of `seconds` in which another build of the program ran as well.
    public var sharedSeconds: Double
    /// The number of requests that began.
    public var requests: Double
    /// The number of crashes.
    public var crashes: Int

    /// Creates the counts of one hour.
    public init(hour: Int, seconds: Double, sharedSeconds: Double = 0, requests: Double = 0, crashes: Int = 0) {
      (self.hour, self.seconds, self.sharedSeconds) = (hour, seconds.amount, sharedSeconds.amount)
      (self.requests, self.crashes) = (requests.amount, max(0, crashes))
    }
  }

  /// The unit in which the exposure of the builds is measured.
  public enum Measure: String, Sendable {
    case processHours
    /// The requests that began; this unit requires that both builds count requests.
    case requests
  }

  /// The ratios of the new build's crash rate to the old build's that the comparison tests for.
  ///
  /// Further ratios, such as 3 or 10, would delay the detection of a fivefold crash rate by up to one crash each, and
  /// would not detect a threefold rate sooner. With the ratio 5, the detection of a twentyfold crash rate needs four
  /// crashes.
  public static let rises = [5.0]
  /// The e-value at which the new build is treated as worse; with this threshold, a false alarm occurs in at most 1 %
  /// of rollouts.
  public static let threshold = 100.0
  /// The number of hours before the rollout whose counts of the old build are used.
  public static let history_h = 14 * 24

  /// The unit of the exposure.
  public let measure: Measure
  /// The e-value: how many times better a higher rate of the new build explains the crashes than equal rates of both
  /// builds do.
  public let value: Double
  /// The number of compared crashes of the new build.
  public let newCrashes: Int
  /// The number of compared crashes of the old build.
  public let oldCrashes: Int
  /// The number of crashes that the new build would have had at the old build's rate; nil if the old build has no
  /// exposure.
  public let expected: Double?

  /// Whether the new build crashes more often.
  public var isWorse: Bool { value >= Self.threshold }

  /// Compares two builds of one program.
  public init(new: [Hour], old: [Hour]) {
    let measure = Self.measure([new, old])
    let exposure = { (hour: Hour) in measure == .requests ? hour.requests : hour.seconds / 3_600 }
    let start = new.map(\.hour).min() ?? .max
    let others = Dictionary(old.map { ($0.hour, $0) }) { $1 }
    var comparison = BuildComparison(rises: Self.rises)
    var (alone, expected, hasExpected) = ((exposure: 0.0, crashes: 0), 0.0, false)
    var besides: Set<Int> = []
    for hour in new where exposure(hour) > 0 {
      guard hour.sharedSeconds * 2 >= hour.seconds, let other = others[hour.hour], exposure(other) > 0 else {
        alone = (alone.exposure + exposure(hour), alone.crashes + hour.crashes)
        continue
      }
      besides.insert(hour.hour)
      comparison.observe(
        new: hour.crashes, old: other.crashes, newShare: exposure(hour) / (exposure(hour) + exposure(other)))
      expected += Double(other.crashes) * exposure(hour) / exposure(other)
      hasExpected = true
    }
    let history = old.filter {
      $0.hour <= start && $0.hour > start - Self.history_h && !besides.contains($0.hour)
    }
    let before = history.reduce(0) { $0 + exposure($1) }
    if before > 0, alone.exposure > 0 {
      let crashes = history.reduce(0) { $0 + $1.crashes }
      comparison.observe(new: alone.crashes, old: crashes, newShare: alone.exposure / (alone.exposure + before))
      expected += Double(crashes) * alone.exposure / before
      hasExpected = true
    }
    self.measure = measure
    self.expected = hasExpected ? expected : nil
    (value, newCrashes, oldCrashes) = (comparison.value, comparison.newEvents, comparison.oldEvents)
  }

  /// Returns the unit in which the exposure of both builds is known.
  ///
  /// For a build that crashes before its first request, the exposure in requests would be 0. The comparison then uses
  /// the hours of the processes.
  private static func measure(_ builds: [[Hour]]) -> Measure {
    let countsAll = builds.allSatisfy { hours in
      hours.contains { $0.requests > 0 } && hours.allSatisfy { $0.crashes == 0 || $0.requests > 0 }
    }
    return countsAll ? .requests : .processHours
  }
}
