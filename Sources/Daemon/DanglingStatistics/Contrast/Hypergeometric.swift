import Glibc

/// Computes the exact tail of the hypergeometric distribution, which is the one-sided test of Fisher.
///
/// The functions never trap. If `total`, `sample` or `marked` is out of range, the probability is 1, that is, the
/// returned logarithm is 0.
public enum Hypergeometric: Sendable {
  /// Returns the decimal logarithm of the probability that a random sample contains at least `found` of the marked
  /// items.
  ///
  /// The sample consists of `sample` of `total` items, and `marked` of the `total` items are marked. The result is a
  /// logarithm, because the probability can be smaller than the smallest `Double`.
  /// - Complexity: O(min(sample, marked)).
  public static func upperTailLog10(found: Int, sample: Int, marked: Int, total: Int) -> Double {
    guard total >= 0, (0...total).contains(sample), (0...total).contains(marked) else { return 0 }
    let most = min(sample, marked)
    guard found > max(0, sample + marked - total) else { return 0 }
    guard found <= most else { return -.infinity }
    // Compute each term from the term before it, and the sum relative to the first term, which can be tiny.
    let first =
      chooseLog(marked, found) + chooseLog(total - marked, sample - found) - chooseLog(total, sample)
    var (term, sum) = (1.0, 1.0)
    var count = found
    while count < most {
      let left = Double(marked - count) * Double(sample - count)
      term *= left / (Double(count + 1) * Double(total - marked - sample + count + 1))
      sum += term
      // If the sum overflows, the probability is close to 1, so return the logarithm of 1.
      if !sum.isFinite { return 0 }
      if term < sum * 1e-17 { break }
      count += 1
    }
    return min(0, (first + log(sum)) / log(10))
  }

  private static func chooseLog(_ total: Int, _ count: Int) -> Double {
    Gamma.logGamma(Double(total + 1)) - Gamma.logGamma(Double(count + 1)) - Gamma.logGamma(Double(total - count + 1))
  }
}
