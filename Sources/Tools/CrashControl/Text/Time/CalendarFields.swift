import Glibc

/// A time as calendar fields.
///
/// All uses of `struct tm` are in this type, because that structure contains an unsafe pointer to the name of the zone.
struct CalendarFields {
  enum Zone { case utc, local }

  var date: [Int]
  var time: [Int]
  /// The zone's abbreviation, such as `CET`, or empty if the fields were not created from a time.
  private(set) var zone = ""

  init(_ seconds: Int, _ zone: Zone) {
    var moment = seconds
    // Invariant: the C functions use all pointers only during the calls, and strftime writes at most as many bytes as
    // the array has.
    var parts = unsafe tm()
    switch zone {
    case .utc: unsafe gmtime_r(&moment, &parts)
    case .local: unsafe localtime_r(&moment, &parts)
    }
    date = unsafe [Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)]
    time = unsafe [Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec)]
    var name = [CChar](repeating: 0, count: 32)
    let count = unsafe strftime(&name, name.count, "%Z", &parts)
    self.zone = zone == .utc ? "UTC" : String(decoding: name.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Fails if a field has an impossible value.
  init?(date: [Int], time: [Int]) {
    let time = time.count == 2 ? time + [0] : time
    guard date.count == 3, time.count == 3, (1970...9999).contains(date[0]), (1...12).contains(date[1]),
      (1...31).contains(date[2]), (0...23).contains(time[0]), (0...59).contains(time[1]), (0...60).contains(time[2])
    else { return nil }
    self.date = date
    self.time = time
  }

  /// Returns the seconds since 1970.
  ///
  /// Fields out of their range are allowed, as in mktime: for example, day 0 is the last day of the previous month.
  func seconds(_ zone: Zone) -> Int {
    // The fields fit into Int32, because gmtime_r, localtime_r or `init` limits them. Invariant: the C functions use
    // the pointers only during the calls.
    var parts = unsafe tm()
    unsafe parts.tm_year = Int32(date[0] - 1900)
    unsafe parts.tm_mon = Int32(date[1] - 1)
    unsafe parts.tm_mday = Int32(date[2])
    unsafe parts.tm_hour = Int32(time[0])
    unsafe parts.tm_min = Int32(time[1])
    unsafe parts.tm_sec = Int32(time[2])
    unsafe parts.tm_isdst = -1
    switch zone {
    case .utc: return unsafe timegm(&parts)
    case .local: return unsafe mktime(&parts)
    }
  }

  /// Returns the day before a date such as `2026-11-21`, or nil for any other string.
  static func day(before date: String) -> String? { day(date, shiftedBy: -86_400) }

  /// Returns the day after a date such as `2026-11-21`, or nil for any other string.
  static func day(after date: String) -> String? { day(date, shiftedBy: 86_400) }

  private static func day(_ date: String, shiftedBy seconds: Int) -> String? {
    let parts = date.split(separator: "-").compactMap { Int($0) }
    guard let fields = CalendarFields(date: parts, time: [0, 0]) else { return nil }
    return String(CalendarFields(fields.seconds(.utc) + seconds, .utc).text(separator: " ").prefix(10))
  }

  /// Formats the time as `2026-11-21`, the separator and `08:10:11`.
  func text(separator: String) -> String {
    let twoDigits = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
    return date.map(twoDigits).joined(separator: "-") + separator + time.map(twoDigits).joined(separator: ":")
  }
}
