/// The rate of rare events, with an interval that is also right for none.
public struct EventRate: Sendable, Hashable, Codable {
  /// Events a unit of exposure.
  public var estimate: Double
  /// The equal-tailed interval of the gamma law with half an event added (Jeffreys' prior).
  public var interval: Interval

  /// Estimates it; nil without exposure.
  public init?(events: Double, exposure: Double, confidence: Double = 0.95) {
    guard exposure.amount > 0 else { return nil }
    let events = events.amount
    let tail = (1 - confidence.probability) / 2
    estimate = events / exposure
    interval = Interval(
      lower: events > 0 ? Gamma.quantile(tail, shape: events + 0.5) / exposure : 0,
      upper: Gamma.quantile(1 - tail, shape: events + 0.5) / exposure)
  }
}
