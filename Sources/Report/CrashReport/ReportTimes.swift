/// How a text or a page shows the times of a report, which are RFC 3339 in UTC.
public struct ReportTimes: Sendable {
  /// A whole time.
  public var moment: @Sendable (_ time: String) -> String
  /// A time of the day of the crash; on another day the date, too.
  public var ofDay: @Sendable (_ time: String, _ crash: String) -> String

  /// Makes one from its parts.
  public init(
    moment: @escaping @Sendable (_ time: String) -> String,
    ofDay: @escaping @Sendable (_ time: String, _ crash: String) -> String
  ) {
    self.moment = moment
    self.ofDay = ofDay
  }

  /// As reports have them.
  public static let utc = ReportTimes(
    moment: { $0 },
    ofDay: { time, crash in
      let day = crash.prefix(11)
      return time.hasPrefix(day) ? String(time.dropFirst(day.count)) : time
    })
}
