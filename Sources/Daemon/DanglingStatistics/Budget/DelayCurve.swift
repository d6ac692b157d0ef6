import Glibc

/// The estimated delays of a class, which combine an assumed distribution with the measured distribution.
///
/// The curve is the mean of a Dirichlet process, in which the assumption counts as much as `assumedEvents` measured
/// accesses. A class without hits has the assumed curve, and a class with many hits has the measured one.
public struct DelayCurve: Sendable, Hashable, Codable {
  /// The number of measured accesses that the assumption is worth.
  public static let assumedEvents = 5.0

  /// The scale of the assumed Weibull distribution.
  public var scale_s: Double
  /// The shape of the assumed Weibull distribution.
  ///
  /// Below 1, most accesses come early and some very late.
  public var shape: Double
  /// The delays that the quarantine measured; nil for a class without hits.
  public var measured: DelayDistribution?

  /// Makes a curve.
  ///
  /// The defaults, a scale of 0.2 s and a shape of 0.6, are those of the simulations.
  public init(scale_s: Double = 0.2, shape: Double = 0.6, measured: DelayDistribution? = nil) {
    self.scale_s = scale_s
    self.shape = shape
    self.measured = measured
  }

  /// The share of accesses that come within this delay.
  public func share(within delay_s: Double) -> Double {
    guard delay_s > 0 else { return 0 }
    let assumed = delay_s == .infinity ? 1 : -expm1(-pow(delay_s / scale_s, shape))
    guard let measured else { return assumed.probability }
    let within = measured.count(within: delay_s).estimate
    let total = measured.total.estimate
    return ((Self.assumedEvents * assumed + within) / (Self.assumedEvents + total)).probability
  }
}
