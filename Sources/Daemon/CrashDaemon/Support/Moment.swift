import CrashReport
import Glibc

/// A point of time in nanoseconds since 1970.
///
/// Its text is RFC 3339 in UTC with microseconds: of equal length, so that it orders like the time.
struct Moment: Sendable, Hashable, CustomStringConvertible {
  var nanoseconds: UInt64

  init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  /// A point of time that a policy names; what is no time is the beginning.
  init(seconds: Double) { self.init(nanoseconds: UInt64(seconds > 0 ? min(seconds, 1e10) * 1e9 : 0)) }

  static func now() -> Moment { Moment(nanoseconds: clock(CLOCK_REALTIME)) }

  /// CLOCK_MONOTONIC in nanoseconds.
  static func monotonic_ns() -> UInt64 { clock(CLOCK_MONOTONIC) }

  /// The CPU time of this thread in nanoseconds.
  static func thread_ns() -> UInt64 { clock(CLOCK_THREAD_CPUTIME_ID) }

  private static func clock(_ id: clockid_t) -> UInt64 {
    var time = timespec()
    // clock_gettime writes one timespec; these three clocks always exist.
    unsafe clock_gettime(id, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  var description: String { Timestamp.string(since1970_ns: nanoseconds) }

  /// Days since 1970 of a Gregorian date (Howard Hinnant, "chrono-compatible low-level date algorithms").
  private static func day(year: Int64, month: Int64, day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// Reads RFC 3339, such as `2026-11-21T08:10:00Z` or `2026-11-21T09:10:00.25+01:00`; nil for anything else.
  init?(rfc3339 text: String) {
    let pattern = /(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:[Zz]|([+-])(\d\d):(\d\d))/
    guard let match = text.wholeMatch(of: pattern) else { return nil }
    let parts = match.output
    guard let year = Int64(parts.1), let month = Int64(parts.2), let day = Int64(parts.3), let hour = Int64(parts.4),
      let minute = Int64(parts.5), let second = Int64(parts.6), (1...12).contains(month), (1...31).contains(day),
      hour < 24, minute < 60, second <= 60, year >= 1970
    else { return nil }
    var seconds = Self.day(year: year, month: month, day: day) * 86_400 + hour * 3_600 + minute * 60 + second
    if let sign = parts.8, let hours = parts.9.flatMap({ Int64($0) }), let minutes = parts.10.flatMap({ Int64($0) }) {
      seconds -= (sign == "-" ? -1 : 1) * (hours * 3_600 + minutes * 60)
    }
    let fraction = parts.7.map { UInt64($0 + String(repeating: "0", count: 9 - $0.count)) ?? 0 } ?? 0
    guard seconds >= 0 else { return nil }
    // Above the year 2554: later than anything that happens.
    let (whole, isTooLate) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isStillTooLate) = whole.addingReportingOverflow(fraction)
    nanoseconds = isTooLate || isStillTooLate ? UInt64.max : sum
  }
}
