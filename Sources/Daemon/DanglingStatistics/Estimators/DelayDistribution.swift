import Glibc

/// The delays between deallocation and use-after-free access, estimated from the hits of the quarantine.
///
/// The hits themselves are a biased sample: late accesses find the object evicted. Each hit is weighted with the
/// reciprocal of its probability (`WeightedCount`), so that `count(within:)` estimates all accesses up to a delay,
/// caught and missed.
///
/// Hits are kept in bins, 20 a decade from 1 µs to 1,000,000 s: the size is bounded, distributions of several processes
/// or builds can be added, and a value between two bin edges is off by at most the bin that it falls into.
public struct DelayDistribution: Sendable, Hashable, Codable {
  static let binsPerDecade = 20.0
  static let firstEdge_s = 1e-6
  static let binCount = 240

  /// Only the bins that hold something; the key is the bin's number.
  private var bins: [Int: WeightedCount] = [:]

  /// No hits yet.
  public init() {}

  /// Adds a hit: its delay, and the probability with which the quarantine of that process, at its rate of deallocations
  /// then, still held the object.
  public mutating func add(delay_s: Double, retention: Double) {
    bins[Self.bin(of: delay_s), default: WeightedCount()].add(probability: retention)
  }

  /// Adds the hits of another process or build.
  public mutating func merge(_ other: DelayDistribution) {
    for (bin, count) in other.bins { bins[bin] = (bins[bin] ?? WeightedCount()) + count }
  }

  /// Estimates all accesses, seen or not, as far as the explorer reaches.
  public var total: WeightedCount { bins.values.reduce(WeightedCount(), +) }

  /// Estimates the accesses that came within the delay.
  public func count(within delay_s: Double) -> WeightedCount {
    if delay_s == .infinity { return total }
    let last = Self.bin(of: delay_s)
    var sum = WeightedCount()
    for (bin, count) in bins where bin < last { sum = sum + count }
    if let cut = bins[last] { sum = sum + cut.scaled(by: Self.share(of: last, before: delay_s)) }
    return sum
  }

  /// The estimated share of accesses that came within the delay; nil while nothing was seen.
  public func share(within delay_s: Double) -> Double? {
    let total = total.estimate
    return total > 0 ? count(within: delay_s).estimate / total : nil
  }

  /// The delay within which this share of accesses came; nil while nothing was seen.
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
    // The nudge puts a delay that is an edge into the bin that begins there.
    let position = (log10(delay_s / firstEdge_s) * binsPerDecade + 1e-9).rounded(.down)
    return Int(min(position, Double(binCount - 1)))
  }

  private static func edge(_ position: Double) -> Double { firstEdge_s * pow(10, position / binsPerDecade) }

  /// The part of a bin below the delay, if its accesses are spread evenly over the logarithm.
  private static func share(of bin: Int, before delay_s: Double) -> Double {
    guard delay_s > firstEdge_s else { return 0 }
    let position = log10(delay_s / firstEdge_s) * binsPerDecade - Double(bin)
    return position > 1e-9 ? min(position, 1) : 0
  }
}
