#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// The format of the header `Date`.
enum HTTPDate {
  /// The current time.
  static var now: String { text(of: time(nil)) }

  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"]

  /// Returns a time after 1970 in the format of RFC 9110, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
  static func text(of seconds: Int) -> String {
    let (day, second) = seconds.quotientAndRemainder(dividingBy: 86_400)
    // In this calculation, years begin in March, so that the leap day is the last day of a year. An era has 400 years,
    // which are 146,097 days. The first era begins in March of year 0, which is 719,468 days before 1970.
    let (era, dayOfEra) = (day + 719_468).quotientAndRemainder(dividingBy: 146_097)
    let year = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * year + year / 4 - year / 100)
    // From March on, every five months have 153 days.
    let month = (5 * dayOfYear + 2) / 153
    let dayOfMonth = dayOfYear - (153 * month + 2) / 5 + 1
    let calendarYear = era * 400 + year + (month >= 10 ? 1 : 0)
    let (hour, minute) = (second / 3_600, second / 60 % 60)
    return
      "\(days[day % 7]), \(two(dayOfMonth)) \(months[month]) \(calendarYear) \(two(hour)):\(two(minute)):\(two(second % 60)) GMT"
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
