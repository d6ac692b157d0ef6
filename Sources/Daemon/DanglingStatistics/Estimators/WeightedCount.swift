import Glibc

/// A number of events estimated from those that were seen, each weighted with the reciprocal of the probability of seeing it.
///
/// This is the estimator of Horvitz and Thompson (1952): unbiased whatever the events' law, as long as the
/// probabilities are right.
public struct WeightedCount: Sendable, Hashable, Codable {
  /// Events that were seen.
  public private(set) var seen: Double = 0
  /// Σ 1/π: the estimated number of events, seen or not.
  public private(set) var estimate: Double = 0
  /// Σ 1/π²: the variance of the estimate as a sum of Poisson counts.
  public private(set) var sumOfSquares: Double = 0
  /// Σ (1-π)/π²: the variance that comes from not seeing all, given how many there were.
  public private(set) var samplingVariance: Double = 0

  /// Nothing seen yet.
  public init() {}

  /// Adds one event that had this probability of being seen; one of probability 0 cannot have been, and is ignored.
  public mutating func add(probability: Double) {
    let probability = probability.probability
    guard probability > 1e-9 else { return }
    seen += 1
    estimate += 1 / probability
    sumOfSquares += 1 / (probability * probability)
    samplingVariance += (1 - probability) / (probability * probability)
  }

  /// The counts of two separate sets of events.
  public static func + (left: WeightedCount, right: WeightedCount) -> WeightedCount {
    var sum = left
    sum.seen += right.seen
    sum.estimate += right.estimate
    sum.sumOfSquares += right.sumOfSquares
    sum.samplingVariance += right.samplingVariance
    return sum
  }

  /// A part of the count, for a bin that a limit cuts.
  func scaled(by share: Double) -> WeightedCount {
    var part = self
    part.seen *= share
    part.estimate *= share
    part.sumOfSquares *= share
    part.samplingVariance *= share
    return part
  }

  /// The standard deviation of the estimate, given how many events there were.
  public var standardDeviation: Double { samplingVariance.squareRoot() }

  /// An interval for the expected number of events: Fay and Feuer's (1997) for weighted Poisson sums.
  ///
  /// It holds the true value at least with the confidence, also when few events or none were seen: `largestWeight` is the
  /// weight that the next event might have had.
  public func interval(confidence: Double, largestWeight: Double) -> Interval {
    let tail = (1 - confidence.probability) / 2
    // Gamma with this mean and variance; the upper end counts one event more, of the largest weight.
    let lower =
      estimate > 0 ? sumOfSquares / estimate * Gamma.quantile(tail, shape: estimate * estimate / sumOfSquares) : 0
    let weight = max(1, largestWeight.amount)
    let mean = estimate + weight
    let variance = sumOfSquares + weight * weight
    return Interval(lower: lower, upper: variance / mean * Gamma.quantile(1 - tail, shape: mean * mean / variance))
  }
}
