/// A range that contains the true value with a given confidence.
public struct Interval: Sendable, Hashable, Codable {
  /// The lower end.
  public var lower: Double
  /// The upper end, which is not below the lower end.
  public var upper: Double

  /// Makes an interval.
  ///
  /// Ends in the wrong order are swapped.
  public init(lower: Double, upper: Double) {
    self.lower = min(lower, upper)
    self.upper = max(lower, upper)
  }

  /// Whether the value lies in the interval, including its ends.
  public func contains(_ value: Double) -> Bool { value >= lower && value <= upper }
}

extension Double {
  /// The value as an amount; 0 for negative numbers, infinity and not-a-number.
  ///
  /// Amounts come from rings, which are untrusted input.
  var amount: Double { isFinite && self > 0 ? self : 0 }

  /// The value clamped to a probability; 0 for not-a-number.
  var probability: Double { self > 0 ? min(self, 1) : 0 }
}

extension Int {
  /// Rounds the value down and clamps it to the range of Int; 0 for not-a-number.
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
