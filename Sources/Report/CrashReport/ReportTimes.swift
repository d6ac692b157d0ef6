/// The format of the times of a report, which are RFC 3339 in UTC.
public struct ReportTimes: Sendable {
  /// Formats a time with its date.
  public var moment: @Sendable (_ time: String) -> String
  /// Formats a time without its date if it is on the day of the crash, otherwise with its date.
  public var ofDay: @Sendable (_ time: String, _ crash: String) -> String

  /// Creates a value from its parts.
  public init(
    moment: @escaping @Sendable (_ time: String) -> String,
    ofDay: @escaping @Sendable (_ time: String, _ crash: String) -> String
  ) {
    self.moment = moment
    self.ofDay = ofDay
  }

  /// The times as reports contain them.
  public static let utc = ReportTimes(
    moment: { $0 },
    ofDay: { time, crash in
      let day = crash.prefix(11)
      return time.hasPrefix(day) ? String(time.dropFirst(day.count)) : time
    })
}
