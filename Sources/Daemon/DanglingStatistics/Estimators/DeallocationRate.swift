import Glibc

/// Estimates deallocations per second of one class in one process, from readings of its counter.
public struct DeallocationRate: Sendable, Hashable, Codable {
  /// The mean forgets with this time constant.
  public static let memory_s = 300.0

  /// The moving average.
  public private(set) var mean: Double = 0
  /// The highest rate between two readings, for which a horizon must hold.
  public private(set) var maximum: Double = 0
  private var observed_s: Double = 0
  private var lastCount: UInt64?
  private var lastTime_s: Double = 0

  /// No reading yet.
  public init() {}

  /// Adds a reading of the counter.
  ///
  /// A count below the last one, or a clock set back, starts anew: it belongs to another process, or to none.
  public mutating func read(count: UInt64, at time_s: Double) {
    guard time_s.isFinite else { return }
    defer {
      lastCount = count
      lastTime_s = time_s
    }
    guard let lastCount, count >= lastCount, time_s > lastTime_s else { return }
    let elapsed_s = time_s - lastTime_s
    let rate = Double(count - lastCount) / elapsed_s
    // While less than the memory was seen, the average is over all of it.
    observed_s += elapsed_s
    let weight = 1 - exp(-elapsed_s / Self.memory_s)
    mean += max(weight, min(1, elapsed_s / observed_s)) * (rate - mean)
    maximum = max(maximum, rate)
  }
}
