import Glibc

/// Decides whether the wall-clock time can be trusted.
///
/// Retention must not remove reports because the clock jumped forward.
struct ClockWatch {
  /// A difference that is larger than any usual clock correction is a jump.
  private static let leap_ns: Int64 = 3_600_000_000_000
  /// How long the time is not trusted after a jump.
  private static let patience_ns: UInt64 = 3_600_000_000_000

  private typealias Reading = (real: UInt64, boot: UInt64)

  private var last: Reading?
  /// The last trusted pair of times.
  private var sound: Reading?
  private var doubtfulUntil: UInt64 = 0

  /// - Parameters:
  ///   - real: The wall-clock time.
  ///   - boot: The time since the machine started, including sleep.
  /// - Returns: False after a jump forward. The result is true again when the clock has gone back, or has not jumped
  ///   for an hour.
  mutating func isTrusted(real: UInt64, boot: UInt64) -> Bool {
    let now = (real, boot)
    defer { last = now }
    if let sound, let last, Self.leap(from: sound, to: now) > Self.leap_ns {
      // The clock jumped again, in either direction, without returning to the trusted time. The waiting time starts
      // anew.
      if Self.leap(from: last, to: now).magnitude > Self.leap_ns.magnitude { doubtfulUntil = boot &+ Self.patience_ns }
      if boot < doubtfulUntil { return false }
    }
    sound = now
    return true
  }

  /// Returns how much more the wall-clock time has advanced than the time since boot.
  ///
  /// The result is valid up to 292 years.
  private static func leap(from old: Reading, to new: Reading) -> Int64 {
    Int64(bitPattern: (new.real &- old.real) &- (new.boot &- old.boot))
  }

  /// Returns CLOCK_BOOTTIME in nanoseconds.
  static func boot_ns() -> UInt64 {
    var time = timespec()
    // clock_gettime writes one timespec. The clock exists since Linux 2.6.39, so the call cannot fail.
    unsafe clock_gettime(CLOCK_BOOTTIME, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
