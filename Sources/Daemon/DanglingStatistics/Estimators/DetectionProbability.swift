/// The probability that an object is still in the quarantine's queue when a use-after-free access occurs, with a
/// confidence interval.
public struct DetectionProbability: Sendable, Hashable, Codable {
  /// The estimated number of accesses with a delay up to `Retention.horizon_s`, divided by that of accesses with a
  /// delay up to `reach_s`.
  public var estimate: Double
  /// The interval that contains the true probability with at least the requested confidence.
  public var interval: Interval
  /// The maximum delay of the accesses to which the probability applies, in seconds.
  ///
  /// It does not apply to accesses with a longer delay: for them, the explorer (the pool with random eviction) gives no
  /// usable weights (see `WeightedCount`).
  public var reach_s: Double

  /// Estimates the probability from the delays of all hits (detected accesses); nil if there are no hits.
  ///
  /// The accesses with a delay below `Retention.horizon_s` and the accesses with a longer delay are two weighted
  /// counts, each with an interval. If both intervals contain their true values, the resulting interval contains the
  /// true probability. It can be wider than necessary, but is never too narrow.
  public init?(delays: DelayDistribution, retention: Retention, confidence: Double = 0.95) {
    guard retention.horizon_s.isFinite else {
      guard delays.total.seen > 0 else { return nil }
      self.init(estimate: 1, interval: Interval(lower: 1, upper: 1), reach_s: .greatestFiniteMagnitude)
      return
    }
    let inside = delays.count(within: retention.horizon_s)
    let reached = delays.count(within: retention.reach_s)
    guard reached.estimate > 0 else { return nil }
    let outside = max(0, reached.estimate - inside.estimate)
    let beyond = delays.count(from: retention.horizon_s, to: retention.reach_s)

    // Give each of the two intervals half of the allowed error probability.
    let each = 1 - (1 - confidence.probability) / 2
    let insideRange = inside.interval(
      confidence: each, largestWeight: 1 / max(retention.probability(after: retention.horizon_s), 1e-6))
    let beyondRange = beyond.interval(
      confidence: each, largestWeight: 1 / max(retention.explorerProbability(after: retention.reach_s), 1e-6))
    let lower = Self.share(insideRange.lower, of: beyondRange.upper)
    let upper = Self.share(insideRange.upper, of: beyondRange.lower)
    self.init(
      estimate: inside.estimate / (inside.estimate + outside), interval: Interval(lower: lower, upper: upper),
      reach_s: retention.reach_s)
  }

  private init(estimate: Double, interval: Interval, reach_s: Double) {
    self.estimate = estimate
    self.interval = interval
    self.reach_s = reach_s
  }

  private static func share(_ inside: Double, of outside: Double) -> Double {
    inside + outside > 0 ? inside / (inside + outside) : 0
  }
}

extension DelayDistribution {
  /// Estimates the number of accesses with a delay between two limits.
  func count(from start_s: Double, to end_s: Double) -> WeightedCount {
    count(within: end_s).without(count(within: start_s))
  }
}

extension WeightedCount {
  /// Returns this count without `part`, which is a part of this count.
  fileprivate func without(_ part: WeightedCount) -> WeightedCount {
    let rest = self + part.scaled(by: -1)
    // A very small difference is a rounding error, and must not be treated as an event whose weight is almost zero.
    return rest.estimate > 1e-9 && rest.sumOfSquares > 1e-9 ? rest : WeightedCount()
  }
}
