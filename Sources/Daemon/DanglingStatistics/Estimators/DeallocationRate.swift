import Glibc

/// Estimates the number of deallocations per second of one class in one process, from readings of the class's counter.
public struct DeallocationRate: Sendable, Hashable, Codable {
  /// The time constant of the moving average, in seconds.
  public static let memory_s = 300.0

  /// The moving average of the rate, in deallocations per second.
  public private(set) var mean: Double = 0
  /// The highest rate between two readings, in deallocations per second.
  ///
  /// At this rate, objects stay in the quarantine for a shorter time than at the mean rate.
  public private(set) var maximum: Double = 0
  private var observed_s: Double = 0
  private var lastCount: UInt64?
  private var lastTime_s: Double = 0

  /// Makes an estimator without readings.
  public init() {}

  /// Adds a reading of the counter.
  ///
  /// If the count is below the previous count, the reading belongs to another process or is invalid. If the clock was
  /// set back, the elapsed time is unknown. In both cases, this reading is only the start for the next one.
  public mutating func read(count: UInt64, at time_s: Double) {
    guard time_s.isFinite else { return }
    defer {
      lastCount = count
      lastTime_s = time_s
    }
    guard let lastCount, count >= lastCount, time_s > lastTime_s else { return }
    let elapsed_s = time_s - lastTime_s
    let rate = Double(count - lastCount) / elapsed_s
    // Until the observed time is longer than the time constant, compute the plain average over the observed time.
    observed_s += elapsed_s
    let weight = 1 - exp(-elapsed_s / Self.memory_s)
    mean += max(weight, min(1, elapsed_s / observed_s)) * (rate - mean)
    maximum = max(maximum, rate)
  }
}
