/// A range that holds the true value with the confidence that its source states.
public struct Interval: Sendable, Hashable, Codable {
  /// The lower end.
  public var lower: Double
  /// The upper end; never below the lower one.
  public var upper: Double

  /// An interval; ends given in the wrong order are put in order.
  public init(lower: Double, upper: Double) {
    self.lower = min(lower, upper)
    self.upper = max(lower, upper)
  }

  /// Whether the value lies inside, ends included.
  public func contains(_ value: Double) -> Bool { value >= lower && value <= upper }
}

extension Double {
  /// The value, or 0 for what cannot be an amount: a negative number, infinity, not a number.
  ///
  /// Amounts come from rings, which are untrusted input.
  var amount: Double { isFinite && self > 0 ? self : 0 }

  /// The value as a probability: clamped, and 0 for not a number.
  var probability: Double { self > 0 ? min(self, 1) : 0 }
}

extension Int {
  /// The integer below, clamped to what fits; 0 for not a number.
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
