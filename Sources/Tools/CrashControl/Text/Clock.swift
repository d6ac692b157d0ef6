internal import CrashReport
import Glibc

/// How people see the times of reports: in which zone, and how old they are.
public struct Clock: Sendable {
  /// Now, in seconds since 1970: ages count from here.
  public var now: Int
  /// Whether times are in UTC rather than in the local zone.
  public var isUTC: Bool

  /// Makes a clock; without arguments that of the machine, in the local zone.
  public init(now: Int? = nil, isUTC: Bool = false) {
    self.now = now ?? time(nil)
    self.isUTC = isUTC
  }

  /// `2026-11-21 08:10:11 CET`; the text itself when it is no RFC 3339 time in UTC.
  public func text(_ rfc3339: String) -> String {
    guard let fields = fields(rfc3339) else { return rfc3339 }
    return fields.text(separator: " ") + " " + fields.zone
  }

  /// `3m`, `2d`: how long ago it was; the text itself when it is no RFC 3339 time in UTC.
  public func age(_ rfc3339: String) -> String {
    LocalTime.seconds(rfc3339: rfc3339).map { Age.text(now - $0) } ?? rfc3339
  }

  /// The times of one report: with microseconds, and with its age where a person reads it at once.
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

  /// Such as `.123456`; empty where the time has none.
  private static func fraction(_ rfc3339: String) -> Substring {
    rfc3339.firstIndex(of: ".").map { rfc3339[$0...].dropLast() } ?? ""
  }
}
