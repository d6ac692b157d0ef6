import Glibc

/// Decides whether retention can trust the wall-clock time.
///
/// Retention must not remove reports because the wall clock jumped forward.
struct ClockWatch {
  /// The minimum difference that is treated as a jump, which is larger than any usual clock correction.
  private static let leap_ns: Int64 = 3_600_000_000_000
  /// The time after a jump during which the wall-clock time is not trusted.
  private static let patience_ns: UInt64 = 3_600_000_000_000

  private typealias Reading = (real: UInt64, boot: UInt64)

  private var last: Reading?
  /// The last pair of times that was trusted.
  private var sound: Reading?
  private var doubtfulUntil: UInt64 = 0

  /// - Parameters:
  ///   - real: The wall-clock time.
  ///   - boot: The time since the machine started, including the time in which it was suspended.
  /// - Returns: The result is false after the clock has jumped forward. The result is true again after the clock has
  ///   jumped back, or has not jumped for an hour.
  mutating func isTrusted(real: UInt64, boot: UInt64) -> Bool {
    let now = (real, boot)
    defer { last = now }
    if let sound, let last, Self.leap(from: sound, to: now) > Self.leap_ns {
      // The clock jumped again, in either direction, but did not return to the trusted time. Therefore, the waiting
      // time starts again.
      if Self.leap(from: last, to: now).magnitude > Self.leap_ns.magnitude { doubtfulUntil = boot &+ Self.patience_ns }
      if boot < doubtfulUntil { return false }
    }
    sound = now
    return true
  }

  /// Returns how much more time passed on the wall clock than on the clock that counts from boot, between two readings.
  ///
  /// The result is valid for differences of up to 292 years.
  private static func leap(from old: Reading, to new: Reading) -> Int64 {
    Int64(bitPattern: (new.real &- old.real) &- (new.boot &- old.boot))
  }

  /// Returns CLOCK_BOOTTIME in nanoseconds.
  static func boot_ns() -> UInt64 {
    var time = timespec()
    // clock_gettime writes one timespec, to `time`. The call cannot fail, because this clock exists since Linux 2.6.39.
    unsafe clock_gettime(CLOCK_BOOTTIME, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
