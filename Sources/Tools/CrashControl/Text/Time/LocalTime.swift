import Glibc

/// Parses the times that users enter, which are in the local zone.
///
/// `Clock` formats times.
public enum LocalTime: Sendable {
  /// Formats a time as RFC 3339 in UTC.
  public static func rfc3339(_ seconds: Int) -> String {
    CalendarFields(seconds, .utc).text(separator: "T") + "Z"
  }

  /// Returns the time of the last microsecond of a second.
  ///
  /// The end of a period uses this time: lists show times without fractions, and the period must include a crash in
  /// the same second.
  public static func rfc3339EndOfSecond(_ seconds: Int) -> String {
    rfc3339(seconds).dropLast() + ".999999Z"
  }

  /// Parses the values of `-S` and `-U`.
  ///
  /// Returns nil for any other string.
  ///
  /// Accepts `2026-11-21`, `2026-11-21 08:10[:11]`, `08:10[:11]`, `now`, `today`, `yesterday`, `-2h`, `2h ago`,
  /// `@1795248611`, and RFC 3339 in UTC. Also accepts a time as lists show it, with `UTC` or the local zone at its end.
  public static func parse(_ text: String) -> Int? { parse(text, now: time(nil)) }

  package static func parse(_ text: String, now: Int) -> Int? {
    var today = CalendarFields(now, .local)
    today.time = [0, 0, 0]
    switch text {
    case "now": return now
    case "today": return today.seconds(.local)
    case "yesterday":
      today.date[2] -= 1
      return today.seconds(.local)
    default: break
    }
    if text.hasPrefix("@") { return Int(text.dropFirst()).flatMap { (0...253_402_300_799).contains($0) ? $0 : nil } }
    if text.hasPrefix("-") { return span(text.dropFirst()).map { now - $0 } }
    if text.hasSuffix(" ago") { return span(text.dropLast(4)).map { now - $0 } }
    return seconds(rfc3339: text) ?? seconds(local: text, today: today)
  }

  /// Parses `2026-11-21T08:10:11[.123]Z`, and returns seconds since 1970.
  static func seconds(rfc3339 text: String) -> Int? {
    guard text.hasSuffix("Z"), let separator = text.firstIndex(of: "T") else { return nil }
    let clock = text[text.index(after: separator)...].dropLast().prefix { $0 != "." }
    let date = numbers(text[..<separator], separator: "-")
    let time = numbers(clock, separator: ":")
    guard time.count == 3 else { return nil }
    return CalendarFields(date: date, time: time)?.seconds(.utc)
  }

  private static func seconds(local text: String, today: CalendarFields) -> Int? {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    let date: [Int]
    let time: [Int]
    switch (words.count, words[0].contains(":")) {
    case (1, true): (date, time) = (today.date, numbers(words[0], separator: ":"))
    case (1, false): (date, time) = (numbers(words[0], separator: "-"), today.time)
    case (2...3, false): (date, time) = (numbers(words[0], separator: "-"), numbers(words[1], separator: ":"))
    default: return nil
    }
    guard let fields = CalendarFields(date: date, time: time) else { return nil }
    guard words.count == 3 else { return fields.seconds(.local) }
    if words[2] == "UTC" { return fields.seconds(.utc) }
    let seconds = fields.seconds(.local)
    return CalendarFields(seconds, .local).zone == words[2] ? seconds : nil
  }

  /// Returns the numbers between the separators, or an empty array if a part is not a number.
  private static func numbers(_ text: Substring, separator: Character) -> [Int] {
    let parts = text.split(separator: separator, omittingEmptySubsequences: false)
    let numbers = parts.compactMap { $0.utf8.allSatisfy { (48...57).contains($0) } ? Int($0) : nil }
    return numbers.count == parts.count ? numbers : []
  }

  /// Parses a duration such as `90`, `90s`, `5min`, `2h`, `3d` or `1w`, and returns its seconds.
  ///
  /// Returns nil for durations that are too long.
  private static func span(_ text: Substring) -> Int? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let unit = text.dropFirst(digits.count).drop { $0 == " " }
    let factors = [
      "": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400,
      "days": 86400, "w": 604_800, "week": 604_800, "weeks": 604_800,
    ]
    guard let count = Int(digits), count <= 1_000_000, let factor = factors[String(unit)] else { return nil }
    return count * factor
  }
}
