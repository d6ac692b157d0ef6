import Glibc

/// The estimated distribution of the delays between the deallocation of a class's objects and use-after-free accesses.
///
/// The estimate combines an assumed distribution with the measured distribution.
///
/// The estimate is the mean of a Dirichlet process, in which the assumed distribution has the weight of `assumedEvents`
/// measured accesses. For a class without hits (detected accesses), the estimate is the assumed distribution. For a
/// class with many hits, the estimate is close to the measured distribution.
public struct DelayCurve: Sendable, Hashable, Codable {
  /// The weight of the assumed distribution, as a number of measured accesses.
  public static let assumedEvents = 5.0

  /// The scale of the assumed Weibull distribution.
  public var scale_s: Double
  /// The shape of the assumed Weibull distribution.
  ///
  /// If the shape is below 1, most accesses come soon after the deallocation, but some come very late.
  public var shape: Double
  /// The delays that the quarantine measured; nil for a class without hits.
  public var measured: DelayDistribution?

  /// Makes a curve.
  ///
  /// The simulations use the default values: a scale of 0.2 s and a shape of 0.6.
  public init(scale_s: Double = 0.2, shape: Double = 0.6, measured: DelayDistribution? = nil) {
    self.scale_s = scale_s
    self.shape = shape
    self.measured = measured
  }

  /// Returns the estimated share of accesses whose delay is at most `delay_s`.
  public func share(within delay_s: Double) -> Double {
    guard delay_s > 0 else { return 0 }
    let assumed = delay_s == .infinity ? 1 : -expm1(-pow(delay_s / scale_s, shape))
    guard let measured else { return assumed.probability }
    let within = measured.count(within: delay_s).estimate
    let total = measured.total.estimate
    return ((Self.assumedEvents * assumed + within) / (Self.assumedEvents + total)).probability
  }
}
