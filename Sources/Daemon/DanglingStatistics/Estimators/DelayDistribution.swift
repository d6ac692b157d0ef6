import Glibc

/// The distribution of the delays between deallocation and use-after-free access, estimated from the hits (the accesses
/// that the quarantine detected).
///
/// The hits are a biased sample, because the quarantine misses an access that comes after the object was evicted.
/// Therefore, each hit is weighted with the reciprocal of the probability that it was observed (`WeightedCount`). With
/// these weights, `count(within:)` estimates the number of all accesses up to a delay, both caught and missed.
///
/// The hits are counted in bins of their delays. There are 20 bins for each factor of ten, from 1 µs to 1,000,000 s.
/// With fixed bins, the size of this value is limited, and the distributions of several processes or builds can be
/// added. If the requested delay is inside a bin, the error of `count(within:)` is at most the count of this bin.
public struct DelayDistribution: Sendable, Hashable, Codable {
  static let binsPerDecade = 20.0
  static let firstEdge_s = 1e-6
  static let binCount = 240

  /// The counts of the bins that are not empty, by the bin number.
  private var bins: [Int: WeightedCount] = [:]

  /// Makes a distribution without hits.
  public init() {}

  /// Adds a hit with its delay and its retention.
  ///
  /// The retention is the probability that an object is still in quarantine after this delay. The caller computes it
  /// with the process's rate of deallocations at the time of the access.
  public mutating func add(delay_s: Double, retention: Double) {
    bins[Self.bin(of: delay_s), default: WeightedCount()].add(probability: retention)
  }

  /// Adds the hits in the distribution of another process or build.
  public mutating func merge(_ other: DelayDistribution) {
    for (bin, count) in other.bins { bins[bin] = (bins[bin] ?? WeightedCount()) + count }
  }

  /// The estimated number of all accesses, observed or not, whose delay is at most `Retention.reach_s`.
  public var total: WeightedCount { bins.values.reduce(WeightedCount(), +) }

  /// Estimates the number of accesses whose delay is at most `delay_s`.
  public func count(within delay_s: Double) -> WeightedCount {
    if delay_s == .infinity { return total }
    let last = Self.bin(of: delay_s)
    var sum = WeightedCount()
    for (bin, count) in bins where bin < last { sum = sum + count }
    if let cut = bins[last] { sum = sum + cut.scaled(by: Self.share(of: last, before: delay_s)) }
    return sum
  }

  /// Returns the estimated share of accesses whose delay is at most `delay_s`; nil if there are no hits.
  public func share(within delay_s: Double) -> Double? {
    let total = total.estimate
    return total > 0 ? count(within: delay_s).estimate / total : nil
  }

  /// Returns the delay that the given share of accesses does not exceed; nil if there are no hits.
  public func quantile(_ share: Double) -> Double? {
    let goal = total.estimate * share.probability
    guard goal > 0 else { return nil }
    var sum = 0.0
    for (bin, count) in bins.sorted(by: { $0.key < $1.key }) {
      if sum + count.estimate >= goal {
        return Self.edge(Double(bin) + (goal - sum) / count.estimate)
      }
      sum += count.estimate
    }
    return Self.edge(Double(Self.binCount))
  }

  private static func bin(of delay_s: Double) -> Int {
    guard delay_s > firstEdge_s else { return 0 }
    // The small addend corrects rounding errors of the logarithm, so that a delay at the edge between two bins is in
    // the bin that begins at this edge.
    let position = (log10(delay_s / firstEdge_s) * binsPerDecade + 1e-9).rounded(.down)
    return Int(min(position, Double(binCount - 1)))
  }

  private static func edge(_ position: Double) -> Double { firstEdge_s * pow(10, position / binsPerDecade) }

  /// Returns the estimated share of the accesses in a bin whose delay is below `delay_s`.
  ///
  /// The estimate assumes that the accesses in a bin are uniform over the logarithm of the delay.
  private static func share(of bin: Int, before delay_s: Double) -> Double {
    guard delay_s > firstEdge_s else { return 0 }
    let position = log10(delay_s / firstEdge_s) * binsPerDecade - Double(bin)
    return position > 1e-9 ? min(position, 1) : 0
  }
}
