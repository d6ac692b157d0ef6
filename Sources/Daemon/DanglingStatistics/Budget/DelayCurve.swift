import Glibc

/// The estimated delays of a class: an assumed law, and the measured distribution as it fills.
///
/// The mean of a Dirichlet process: the assumption counts as much as `assumedEvents` measured accesses, so that a class without
/// hits has a curve, and one with many has its own.
public struct DelayCurve: Sendable, Hashable, Codable {
  /// The measured accesses that the assumption counts for.
  public static let assumedEvents = 5.0

  /// The assumption is Weibull's law with this scale.
  public var scale_s: Double
  /// Its shape; below 1, most accesses come early and some very late.
  public var shape: Double
  /// The delays that the quarantine measured; nil for a class without hits.
  public var measured: DelayDistribution?

  /// A curve; the assumption that the simulations used is a scale of 0.2 s and a shape of 0.6.
  public init(scale_s: Double = 0.2, shape: Double = 0.6, measured: DelayDistribution? = nil) {
    self.scale_s = scale_s
    self.shape = shape
    self.measured = measured
  }

  /// The share of accesses that come within the delay.
  public func share(within delay_s: Double) -> Double {
    guard delay_s > 0 else { return 0 }
    let assumed = delay_s == .infinity ? 1 : -expm1(-pow(delay_s / scale_s, shape))
    guard let measured else { return assumed.probability }
    let within = measured.count(within: delay_s).estimate
    let total = measured.total.estimate
    return ((Self.assumedEvents * assumed + within) / (Self.assumedEvents + total)).probability
  }
}
