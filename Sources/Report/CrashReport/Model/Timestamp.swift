/// Formats and parses times in the format of reports.
public enum Timestamp: Sendable {
  /// Formats a time as RFC 3339 in UTC with microseconds, such as `2026-11-21T08:13:07.123456Z`.
  ///
  /// The argument is in nanoseconds of `CLOCK_REALTIME`. Every argument is valid, and the largest value is in the year
  /// 2554.
  public static func string(since1970_ns: UInt64) -> String {
    let seconds = Int(since1970_ns / 1_000_000_000)
    let microseconds = Int(since1970_ns % 1_000_000_000 / 1_000)
    let (year, month, day) = civilDate(daysSince1970: seconds / 86_400)
    let second = seconds % 86_400
    let date = "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))"
    let time = "\(digits(second / 3_600, 2)):\(digits(second / 60 % 60, 2)):\(digits(second % 60, 2))"
    return "\(date)T\(time).\(digits(microseconds, 6))Z"
  }

  /// Parses an RFC 3339 time, such as `2026-11-21T08:10:00Z` or `2026-11-21T09:10:00.25+01:00`.
  ///
  /// Returns nanoseconds since 1970. Returns nil for any other string. For a time after the year 2554, returns the
  /// largest number.
  public static func nanoseconds(rfc3339 text: String) -> UInt64? {
    // This code uses no regular expression, because a regular expression literal is parsed again at each call. This
    // parsing would take most of the time in which crash-fleet reads a report.
    var rest = text.utf8[...]
    guard let year = number(4, &rest), take("-", &rest), let month = number(2, &rest), take("-", &rest),
      let day = number(2, &rest), take("Tt ", &rest), let hour = number(2, &rest), take(":", &rest),
      let minute = number(2, &rest), take(":", &rest), let second = number(2, &rest)
    else { return nil }
    guard (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60, year >= 1970 else {
      return nil
    }
    var seconds = days(year: year, month: month, day: day) * 86_400 + hour * 3_600 + minute * 60 + second
    guard let fraction = fraction(&rest), let offset = offset(&rest), rest.isEmpty else { return nil }
    seconds -= offset
    guard seconds >= 0 else { return nil }
    let (whole, isTooLate) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isStillTooLate) = whole.addingReportingOverflow(fraction)
    return isTooLate || isStillTooLate ? UInt64.max : sum
  }

  /// Reads a number that has exactly `count` decimal digits.
  private static func number(_ count: Int, _ rest: inout Substring.UTF8View) -> Int64? {
    guard rest.count >= count else { return nil }
    var value: Int64 = 0
    for byte in rest.prefix(count) {
      guard let digit = digit(byte) else { return nil }
      value = value * 10 + digit
    }
    rest = rest.dropFirst(count)
    return value
  }

  /// Reads the nanoseconds after a point; 0 if there is no point.
  ///
  /// Ignores the digits after the ninth. Returns nil if the point has no digits.
  private static func fraction(_ rest: inout Substring.UTF8View) -> UInt64? {
    guard take(".", &rest) else { return 0 }
    var (value, count): (UInt64, Int) = (0, 0)
    while let digit = rest.first.flatMap(digit) {
      if count < 9 { value = value * 10 + UInt64(digit) }
      count += 1
      rest.removeFirst()
    }
    for _ in min(count, 9)..<9 { value *= 10 }
    return count > 0 ? value : nil
  }

  /// Reads `Z` or an offset from UTC, in seconds.
  private static func offset(_ rest: inout Substring.UTF8View) -> Int64? {
    if take("Zz", &rest) { return 0 }
    let isWest = rest.first == UInt8(ascii: "-")
    guard take("+-", &rest), let hours = number(2, &rest), take(":", &rest), let minutes = number(2, &rest) else {
      return nil
    }
    return (isWest ? -1 : 1) * (hours * 3_600 + minutes * 60)
  }

  private static func digit(_ byte: UInt8) -> Int64? {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) ? Int64(byte - UInt8(ascii: "0")) : nil
  }

  /// Skips the next byte if it is one of `bytes`.
  private static func take(_ bytes: String, _ rest: inout Substring.UTF8View) -> Bool {
    guard let next = rest.first, bytes.utf8.contains(next) else { return false }
    rest.removeFirst()
    return true
  }

  /// Returns the number of days from 1970 to a Gregorian date, by Howard Hinnant's algorithm `days_from_civil`.
  private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// Returns the Gregorian date for a number of days since 1970, by Howard Hinnant's algorithm `civil_from_days`.
  private static func civilDate(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
    // Days are counted from 0000-03-01, so that a leap day is the last day of its year. 400 years have 146,097 days.
    let shifted = days + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }

  private static func digits(_ value: Int, _ width: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }
}
