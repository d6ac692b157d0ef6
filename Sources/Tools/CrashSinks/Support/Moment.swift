/// Times of reports as numbers.
enum Moment {
  /// Nanoseconds since 1970 of an RFC 3339 time in UTC as reports have it; nil for anything else.
  static func nanoseconds(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard (20...30).contains(bytes.count), bytes.last == UInt8(ascii: "Z"),
      [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")].allSatisfy({ bytes[$0.0] == $0.1.utf8.first }),
      let year = digits(bytes[0..<4]), let month = digits(bytes[5..<7]), let day = digits(bytes[8..<10]),
      let hour = digits(bytes[11..<13]), let minute = digits(bytes[14..<16]), let second = digits(bytes[17..<19]),
      (1970...2200).contains(year), (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60,
      second <= 60
    else { return nil }
    var fraction: Int64 = 0
    if bytes.count > 20 {
      let part = bytes[20..<bytes.count - 1]
      guard bytes[19] == UInt8(ascii: "."), !part.isEmpty, let value = digits(part) else { return nil }
      fraction = (part.count..<9).reduce(value) { number, _ in number * 10 }
    }
    let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
    return seconds * 1_000_000_000 + fraction
  }

  private static func digits(_ bytes: ArraySlice<UInt8>) -> Int64? {
    guard bytes.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    return bytes.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
  }

  /// Since 1970; the algorithm is Howard Hinnant's `days_from_civil`.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let yearOfEra = year % 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return year / 400 * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
