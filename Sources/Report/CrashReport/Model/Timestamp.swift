/// Times in the form that reports have.
public enum Timestamp: Sendable {
  /// RFC 3339 in UTC with microseconds, such as `2026-11-21T08:13:07.123456Z`.
  ///
  /// It takes nanoseconds as `CLOCK_REALTIME` counts them. Any value is good: the largest is in the year 2554.
  public static func string(since1970_ns: UInt64) -> String {
    let seconds = Int(since1970_ns / 1_000_000_000)
    let microseconds = Int(since1970_ns % 1_000_000_000 / 1_000)
    let (year, month, day) = civilDate(daysSince1970: seconds / 86_400)
    let second = seconds % 86_400
    let date = "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))"
    let time = "\(digits(second / 3_600, 2)):\(digits(second / 60 % 60, 2)):\(digits(second % 60, 2))"
    return "\(date)T\(time).\(digits(microseconds, 6))Z"
  }

  /// The Gregorian date; the algorithm is Howard Hinnant's `civil_from_days`, for days from 1970 on.
  private static func civilDate(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
    // Counts from 0000-03-01, so that the leap day is the last of its year; 146,097 days are 400 years.
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
