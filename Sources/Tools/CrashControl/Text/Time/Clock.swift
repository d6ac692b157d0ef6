internal import CrashReport
import Glibc

/// Formats the times of reports in a zone, and their ages.
public struct Clock: Sendable {
  /// The current time in seconds since 1970, from which ages are computed.
  public var now: Int
  /// Whether times are in UTC rather than in the local zone.
  public var isUTC: Bool

  /// Creates a clock.
  ///
  /// The defaults are the current time and the local zone.
  public init(now: Int? = nil, isUTC: Bool = false) {
    self.now = now ?? time(nil)
    self.isUTC = isUTC
  }

  /// Formats a time as `2026-11-21 08:10:11 CET`.
  ///
  /// Returns the string unchanged if it is not an RFC 3339 time in UTC.
  public func text(_ rfc3339: String) -> String {
    guard let fields = fields(rfc3339) else { return rfc3339 }
    return fields.text(separator: " ") + " " + fields.zone
  }

  /// Formats the age of a time, such as `3m` or `2d`.
  ///
  /// Returns the string unchanged if it is not an RFC 3339 time in UTC.
  public func age(_ rfc3339: String) -> String {
    LocalTime.seconds(rfc3339: rfc3339).map { Age.text(now - $0) } ?? rfc3339
  }

  /// Formats the times of one report with microseconds, and if `withAge` is true, also with their ages.
  func times(withAge: Bool) -> ReportTimes {
    ReportTimes(
      moment: { time in
        guard let fields = fields(time) else { return time }
        return "\(fields.text(separator: " "))\(Self.fraction(time)) \(fields.zone)"
          + (withAge ? ", \(age(time)) ago" : "")
      },
      ofDay: { time, crash in
        guard let fields = fields(time) else { return time }
        let text = fields.text(separator: " ") + Self.fraction(time)
        return fields.date == self.fields(crash)?.date ? String(text.dropFirst(11)) : text
      })
  }

  private func fields(_ rfc3339: String) -> CalendarFields? {
    LocalTime.seconds(rfc3339: rfc3339).map { CalendarFields($0, isUTC ? .utc : .local) }
  }

  /// Returns the fraction of a second of a time, such as `.123456`; empty if the time does not have a fraction.
  private static func fraction(_ rfc3339: String) -> Substring {
    rfc3339.firstIndex(of: ".").map { rfc3339[$0...].dropLast() } ?? ""
  }
}
