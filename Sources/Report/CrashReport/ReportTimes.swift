/// Formats the times of a report.
///
/// The report itself contains its times as RFC 3339 in UTC.
public struct ReportTimes: Sendable {
  /// A function that formats a time with its date.
  public var moment: @Sendable (_ time: String) -> String
  /// A function that formats a time of the report.
  ///
  /// The date is omitted if the time is on the day of the crash.
  public var ofDay: @Sendable (_ time: String, _ crash: String) -> String

  /// Creates a value from its parts.
  public init(
    moment: @escaping @Sendable (_ time: String) -> String,
    ofDay: @escaping @Sendable (_ time: String, _ crash: String) -> String
  ) {
    self.moment = moment
    self.ofDay = ofDay
  }

  /// A format that shows the times unchanged, as reports contain them.
  public static let utc = ReportTimes(
    moment: { $0 },
    ofDay: { time, crash in
      let day = crash.prefix(11)
      return time.hasPrefix(day) ? String(time.dropFirst(day.count)) : time
    })
}
