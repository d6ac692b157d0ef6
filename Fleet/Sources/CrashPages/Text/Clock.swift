internal import Glibc

/// The current time.
enum WallClock {
  /// Returns the nanoseconds since 1970.
  static func now_ns() -> UInt64 {
    var time = timespec()
    // Invariant: clock_gettime fills in the structure.
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return UInt64(max(0, time.tv_sec)) * 1_000_000_000 + UInt64(max(0, time.tv_nsec))
  }
}
