#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// The format of the header `Date`.
enum HTTPDate {
  /// The current time.
  static var now: String { text(of: time(nil)) }

  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Returns the time in the format of RFC 9110, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
  static func text(of seconds: time_t) -> String {
    var (seconds, parts) = unsafe (seconds, tm())
    // Both pointers are valid during the call, which only writes `parts`.
    guard unsafe gmtime_r(&seconds, &parts) != nil else { return "" }
    // gmtime_r returns a day of the week and a month within these arrays.
    return unsafe
    "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900) "
      + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
  }

  private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
