/// A range of numbers that contains the true value with a given confidence.
public struct Interval: Sendable, Hashable, Codable {
  /// The lower end of the interval.
  public var lower: Double
  /// The upper end of the interval, which is never below the lower end.
  public var upper: Double

  /// Creates an interval from its two ends.
  ///
  /// If the ends are in the wrong order, the initializer swaps them.
  public init(lower: Double, upper: Double) {
    self.lower = min(lower, upper)
    self.upper = max(lower, upper)
  }

  /// Whether the value is in the interval, including both ends.
  public func contains(_ value: Double) -> Bool { value >= lower && value <= upper }
}

extension Double {
  /// The value as a nonnegative amount; 0 for negative numbers, infinity and not-a-number.
  ///
  /// The conversion is needed because amounts come from the memory of processes, which is untrusted input.
  var amount: Double { isFinite && self > 0 ? self : 0 }

  /// The value limited to the range from 0 to 1; 0 for not-a-number.
  var probability: Double { self > 0 ? min(self, 1) : 0 }
}

extension Int {
  /// Rounds the value down and limits it to the range of Int; 0 for not-a-number.
  init(clamping value: Double) {
    if value >= 0x1p62 {
      self = 1 << 62
    } else if value <= -0x1p62 {
      self = -(1 << 62)
    } else {
      self = value.isNaN ? 0 : Int(value)
    }
  }
}
