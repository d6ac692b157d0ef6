import Glibc

/// Computes tails and quantiles of the gamma distribution with scale 1.
///
/// The tails give the distribution of the time that objects stay in the quarantine. The quantiles give confidence
/// intervals.
///
/// The functions never trap. If an argument is out of range, the result is the value at the end of the range.
enum Gamma {
  /// Returns the logarithm of the gamma function for `x > 0`, by Lanczos' approximation (relative error below 1e-13).
  ///
  /// The function `lgamma` of libc is not used, because it writes a global variable and is not thread-safe.
  static func logGamma(_ x: Double) -> Double {
    guard x > 0 else { return .infinity }
    // For a small argument, the reflection formula uses an argument in the range in which the approximation is
    // accurate.
    if x < 0.5 { return log(.pi / sin(.pi * x)) - logGamma(1 - x) }
    let coefficients = [
      0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
      12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
    ]
    var sum = coefficients[0]
    for index in 1..<coefficients.count { sum += coefficients[index] / (x - 1 + Double(index)) }
    let t = x + 6.5
    return 0.5 * log(2 * .pi) + (x - 0.5) * log(t) - t + log(sum)
  }

  /// Returns the probability that a gamma variable with the given shape is greater than `x`.
  static func upperTail(shape: Double, at x: Double) -> Double {
    guard shape > 0 else { return 0 }
    guard x > 0 else { return 1 }
    guard x.isFinite, shape.isFinite else { return x.isFinite ? 1 : 0 }
    if shape > 10_000 { return wilsonHilferty(shape: shape, at: x) }
    let front = exp(shape * log(x) - x - logGamma(shape))
    let tail = x < shape + 1 ? 1 - front * lowerSeries(shape, x) : front * upperFraction(shape, x)
    return min(1, max(0, tail))
  }

  /// Returns the value that a gamma variable with the given shape does not exceed with the given probability.
  static func quantile(_ probability: Double, shape: Double) -> Double {
    guard shape > 0, probability > 0 else { return 0 }
    guard probability < 1 else { return .infinity }
    // Bisect the logarithm of the value, and not the value itself: for a very small shape, the quantile is many orders
    // of magnitude smaller than the shape.
    var low = -700.0
    var high = log(shape + 20 * shape.squareRoot() + 50)
    while high - low > 1e-12 * max(1, abs(low)) {
      let middle = (low + high) / 2
      if middle <= low || middle >= high { break }
      if 1 - upperTail(shape: shape, at: exp(middle)) < probability { low = middle } else { high = middle }
    }
    return exp((low + high) / 2)
  }

  private static let iterationLimit = 2_000

  private static func lowerSeries(_ shape: Double, _ x: Double) -> Double {
    var term = 1 / shape
    var sum = term
    for index in 1...iterationLimit {
      term *= x / (shape + Double(index))
      sum += term
      if term < sum * 1e-15 { break }
    }
    return sum
  }

  /// Evaluates the continued fraction of the upper tail, by Lentz' method.
  private static func upperFraction(_ shape: Double, _ x: Double) -> Double {
    let tiny = 1e-300
    var b = x + 1 - shape
    var c = 1 / tiny
    var d = 1 / b
    var fraction = d
    for index in 1...iterationLimit {
      let i = Double(index)
      let a = -i * (i - shape)
      b += 2
      d = a * d + b
      if abs(d) < tiny { d = tiny }
      c = b + a / c
      if abs(c) < tiny { c = tiny }
      d = 1 / d
      let change = d * c
      fraction *= change
      if abs(change - 1) < 1e-15 { break }
    }
    return fraction
  }

  /// Approximates the upper tail with a normal distribution, which is possible because the cube root of a gamma
  /// variable is nearly normal.
  ///
  /// If the shape is above 10,000, the error is below 1e-6.
  private static func wilsonHilferty(shape: Double, at x: Double) -> Double {
    let variance = 1 / (9 * shape)
    let z = (cbrt(x / shape) - (1 - variance)) / variance.squareRoot()
    return 0.5 * erfc(z / 2.0.squareRoot())
  }
}
