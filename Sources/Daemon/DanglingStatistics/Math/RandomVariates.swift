import Glibc

/// Generates random numbers with the distributions that Thompson sampling (see `ClassEvidence`) needs.
enum RandomVariates {
  /// Returns a uniform random number between 0 and 1, excluding both ends.
  static func uniform(_ generator: inout some RandomNumberGenerator) -> Double {
    (Double(generator.next() >> 11) + 0.5) * 0x1p-53
  }

  /// Returns a random number with the standard normal distribution, by the polar method.
  static func normal(_ generator: inout some RandomNumberGenerator) -> Double {
    while true {
      let x = 2 * uniform(&generator) - 1
      let y = 2 * uniform(&generator) - 1
      let square = x * x + y * y
      if square > 0, square < 1 { return x * (-2 * log(square) / square).squareRoot() }
    }
  }

  /// Returns a random number with a gamma distribution of scale 1, by the method of Marsaglia and Tsang (2000).
  ///
  /// If the shape is below 1, the function generates a number for `shape + 1` and multiplies it by a power of a uniform
  /// random number.
  static func gamma(shape: Double, _ generator: inout some RandomNumberGenerator) -> Double {
    guard shape > 0, shape.isFinite else { return 0 }
    if shape < 1 { return gamma(shape: shape + 1, &generator) * pow(uniform(&generator), 1 / shape) }
    let d = shape - 1.0 / 3
    let c = 1 / (9 * d).squareRoot()
    while true {
      let x = normal(&generator)
      let v = (1 + c * x) * (1 + c * x) * (1 + c * x)
      if v > 0, log(uniform(&generator)) < 0.5 * x * x + d - d * v + d * log(v) { return d * v }
    }
  }
}
