import CrashReport
import Glibc

/// A point in time, in nanoseconds since 1970-01-01 UTC.
///
/// The text form is RFC 3339 in UTC with microseconds. All of these strings have the same length, so sorting them
/// alphabetically also sorts them by time.
struct Moment: Sendable, Hashable, CustomStringConvertible {
  var nanoseconds: UInt64

  init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  /// Creates the point in time from seconds since 1970, the unit in which the protection policy stores times.
  ///
  /// An invalid time becomes 1970-01-01.
  init(seconds: Double) { self.init(nanoseconds: UInt64(seconds > 0 ? min(seconds, 1e10) * 1e9 : 0)) }

  static func now() -> Moment { Moment(nanoseconds: clock(CLOCK_REALTIME)) }

  /// Returns CLOCK_MONOTONIC in nanoseconds.
  static func monotonic_ns() -> UInt64 { clock(CLOCK_MONOTONIC) }

  /// Returns the CPU time of the calling thread in nanoseconds.
  static func thread_ns() -> UInt64 { clock(CLOCK_THREAD_CPUTIME_ID) }

  private static func clock(_ id: clockid_t) -> UInt64 {
    var time = timespec()
    // clock_gettime writes one timespec, to `time`. The call cannot fail, because Linux always has the three clocks
    // that this file uses.
    unsafe clock_gettime(id, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  var description: String { Timestamp.string(since1970_ns: nanoseconds) }

  /// Parses a time in RFC 3339, such as `2026-11-21T08:10:00Z` or `2026-11-21T09:10:00.25+01:00`.
  ///
  /// Returns nil for any other string.
  init?(rfc3339 text: String) {
    guard let nanoseconds = Timestamp.nanoseconds(rfc3339: text) else { return nil }
    self.nanoseconds = nanoseconds
  }
}
