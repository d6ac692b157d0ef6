import Glibc

/// Decides whether the time of day can be trusted, because retention must not remove reports after the clock jumped.
struct ClockWatch {
  /// A change that is larger than any usual clock correction counts as a jump.
  private static let leap_ns: Int64 = 3_600_000_000_000
  /// How long the clock is not trusted after a jump.
  private static let patience_ns: UInt64 = 3_600_000_000_000

  private typealias Reading = (real: UInt64, boot: UInt64)

  private var last: Reading?
  /// The last trusted reading.
  private var sound: Reading?
  private var doubtfulUntil: UInt64 = 0

  /// - Parameters:
  ///   - real: The time of day.
  ///   - boot: The time since the machine started, including sleep.
  /// - Returns: False after a jump forward. True again when the clock has returned, or has not jumped for an hour.
  mutating func isTrusted(real: UInt64, boot: UInt64) -> Bool {
    let now = (real, boot)
    defer { last = now }
    if let sound, let last, Self.leap(from: sound, to: now) > Self.leap_ns {
      // A jump back that does not reach the trusted time counts as another jump.
      if Self.leap(from: last, to: now).magnitude > Self.leap_ns.magnitude { doubtfulUntil = boot &+ Self.patience_ns }
      if boot < doubtfulUntil { return false }
    }
    sound = now
    return true
  }

  /// Returns how much more the time of day has changed than the time since boot, up to 292 years.
  private static func leap(from old: Reading, to new: Reading) -> Int64 {
    Int64(bitPattern: (new.real &- old.real) &- (new.boot &- old.boot))
  }

  /// CLOCK_BOOTTIME in nanoseconds.
  static func boot_ns() -> UInt64 {
    var time = timespec()
    // clock_gettime writes one timespec. The clock exists since Linux 2.6.39, so the call cannot fail.
    unsafe clock_gettime(CLOCK_BOOTTIME, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
