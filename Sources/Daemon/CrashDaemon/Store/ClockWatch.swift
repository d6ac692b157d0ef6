import Glibc

/// Whether the time of day can be trusted: nothing is old because the clock jumped.
struct ClockWatch {
  /// A leap that is larger than what a clock is corrected by from day to day.
  private static let leap_ns: UInt64 = 3_600_000_000_000
  /// How long the clock may be wrong before it is believed.
  private static let patience_ns: UInt64 = 3_600_000_000_000

  private var last: (real: UInt64, boot: UInt64)?
  private var doubtfulUntil: UInt64 = 0

  /// - Parameters:
  ///   - real: The time of day.
  ///   - boot: The time since the machine started, sleep included.
  /// - Returns: false after a leap forward, until the clock was left alone for an hour.
  mutating func isTrusted(real: UInt64, boot: UInt64) -> Bool {
    if let last, real > last.real, real - last.real > (boot &- last.boot) &+ Self.leap_ns {
      doubtfulUntil = boot &+ Self.patience_ns
    }
    // Back to where it was.
    if let last, real < last.real { doubtfulUntil = 0 }
    last = (real, boot)
    return boot >= doubtfulUntil
  }

  /// CLOCK_BOOTTIME in nanoseconds.
  static func boot_ns() -> UInt64 {
    var time = timespec()
    // clock_gettime writes one timespec; the clock exists since Linux 2.6.39.
    unsafe clock_gettime(CLOCK_BOOTTIME, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
