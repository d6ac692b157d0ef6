import Glibc

/// Estimates the number of all events from the events that were observed.
///
/// Each observed event is weighted with the reciprocal of the probability with which it was observed (the estimator of
/// Horvitz and Thompson, 1952). If the probabilities are correct, the estimator is unbiased for any distribution of the
/// events.
public struct WeightedCount: Sendable, Hashable, Codable {
  /// The number of observed events.
  public private(set) var seen: Double = 0
  /// Σ 1/π, the estimated number of events, whether observed or not; π is the probability that an event is observed.
  public private(set) var estimate: Double = 0
  /// Σ 1/π², the estimated variance of `estimate` if the number of events has a Poisson distribution.
  public private(set) var sumOfSquares: Double = 0
  /// Σ (1 − π)/π², the estimated variance of `estimate` that results from incomplete observation if the true number of
  /// events is fixed.
  public private(set) var samplingVariance: Double = 0

  /// Makes a count without events.
  public init() {}

  /// Adds one event that was observed with the given probability.
  ///
  /// An event whose probability is 0 is ignored, because such an event cannot be observed.
  public mutating func add(probability: Double) {
    let probability = probability.probability
    guard probability > 1e-9 else { return }
    seen += 1
    estimate += 1 / probability
    sumOfSquares += 1 / (probability * probability)
    samplingVariance += (1 - probability) / (probability * probability)
  }

  /// Adds the counts of two sets of events.
  ///
  /// Precondition: the sets have no event in common.
  public static func + (left: WeightedCount, right: WeightedCount) -> WeightedCount {
    var sum = left
    sum.seen += right.seen
    sum.estimate += right.estimate
    sum.sumOfSquares += right.sumOfSquares
    sum.samplingVariance += right.samplingVariance
    return sum
  }

  /// Returns the given share of the count, for a histogram bin that is only partly in the requested range.
  func scaled(by share: Double) -> WeightedCount {
    var part = self
    part.seen *= share
    part.estimate *= share
    part.sumOfSquares *= share
    part.samplingVariance *= share
    return part
  }

  /// The standard deviation of `estimate` if the true number of events is fixed.
  public var standardDeviation: Double { samplingVariance.squareRoot() }

  /// Returns a confidence interval for the expected number of events, by the method of Fay and Feuer (1997) for
  /// weighted Poisson sums.
  ///
  /// The interval contains the true value with at least the given confidence, even if few or no events were observed.
  /// `largestWeight` is the maximum weight that the next event could have.
  public func interval(confidence: Double, largestWeight: Double) -> Interval {
    let tail = (1 - confidence.probability) / 2
    // The ends of the interval are quantiles of a gamma distribution with the same mean and variance as the count. For
    // the upper end, one event with the largest weight is added to the count.
    let lower =
      estimate > 0 ? sumOfSquares / estimate * Gamma.quantile(tail, shape: estimate * estimate / sumOfSquares) : 0
    let weight = max(1, largestWeight.amount)
    let mean = estimate + weight
    let variance = sumOfSquares + weight * weight
    return Interval(lower: lower, upper: variance / mean * Gamma.quantile(1 - tail, shape: mean * mean / variance))
  }
}
