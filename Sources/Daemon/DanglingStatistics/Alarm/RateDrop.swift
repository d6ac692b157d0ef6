import Glibc

/// Notices that events became rarer, as after a fix: an e-process against "the rate is still what it was".
///
/// While the rate is at least the raised one, it ever exceeds 1/α with a probability of at most α.
public struct RateDrop: Sendable, Hashable, Codable {
  /// The drop that the process is built for, to a fifth; larger ones are found sooner, smaller ones later.
  public static let designedDrop = 5.0

  private var logValue = 0.0

  /// Nothing observed yet.
  public init() {}

  /// How many times better the drop explains the events than the old rate.
  public var value: Double { exp(min(logValue, 600)) }

  /// Takes a stretch of time: the events that the raised rate would have given, and those that came.
  public mutating func observe(expectedAtRaisedRate: Double, events: Double) {
    let expected = expectedAtRaisedRate.amount
    logValue += expected * (1 - 1 / Self.designedDrop) - events.amount * log(Self.designedDrop)
  }
}
