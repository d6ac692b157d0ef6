import CrashReport

/// The number of events of one kind in one program: a row in the store, and a sample in crashd's metrics.
///
/// A metric should have few different label values, but programs choose their own names, which are label values.
/// Therefore, the names are shortened, and the numbers of programs and rows of each user are limited. Events of
/// programs and rows beyond these limits are counted under the name `other`.
public struct EventCount: Codable, Sendable, Equatable {
  /// The user ID of the process, which the kernel has verified.
  ///
  /// The other fields contain names that the kernel has not verified.
  public var uid = 0
  /// The name of the program, or `other` if the user has too many programs.
  public var program: String
  /// The systemd unit of the program; empty if there is no unit or the unit is unknown.
  public var unit: String
  /// The signal of a crash, or the source of an incident.
  public var kind: String
  /// The cause of a crash, or the kind of an incident.
  public var detail: String
  /// The number of events that have the values of the preceding fields.
  public var count: Int
  /// The time of the last counted event, as RFC 3339 in UTC.
  public var last: String

  /// The kinds of events that the store counts.
  public enum Event: String, Sendable {
    /// A crash or an unreported exit.
    case crash
    /// A non-fatal incident, such as a fault that a guard absorbed.
    case incident
  }

  /// The maximum number of programs with separate counts for one user.
  public static let programLimit = 128
  /// The maximum number of rows for one user, without the rows of `other`.
  public static let rowLimit = 1_024
  /// The maximum number of rows for all users together.
  ///
  /// If there are more rows, the oldest row of the user with the most rows is removed.
  public static let totalLimit = 4_096
  /// The time without events, in seconds, after which a program's rows can be removed if its user has too many
  /// programs.
  static let rest_s = 7 * 86_400
  /// The maximum value of a count.
  ///
  /// With it, sums of counts cannot overflow.
  static let mostEvents = 1 << 40
}

extension EventCount {
  static let labelBytes = 64

  init(_ report: CrashReport) {
    uid = report.process.uid
    (program, unit) = (Self.label(report.process.name), Self.label(report.process.unit ?? ""))
    (kind, detail) = (Self.label(report.signal.name), Self.label(report.diagnosis.cause.rawValue))
    (count, last) = (1, report.time)
  }

  /// Creates the count for an incident that is stored.
  ///
  /// The parameter `before` is the number of the incident's occurrences that were already counted.
  init(_ incident: IncidentReport, before: Int) {
    uid = incident.process.uid
    (program, unit) = (Self.label(incident.process.name), "")
    (kind, detail) = (Self.label(incident.source.rawValue), Self.label(incident.kind.rawValue))
    let (more, isTooMany) = incident.count.subtractingReportingOverflow(before)
    (count, last) = (isTooMany ? 0 : min(max(0, more), Self.mostEvents), incident.last)
  }

  /// Returns the same event with the name `other`, for a user who has reached a limit (`lack`).
  func other(_ lack: FullShares.Lack) -> EventCount {
    var other = self
    (other.program, other.unit) = ("other", "")
    if lack == .rows { (other.kind, other.detail) = ("other", "other") }
    return other
  }

  /// Shortens a string to a label on one line, with at most 64 bytes.
  static func label(_ text: String) -> String {
    var (label, bytes) = ("", 0)
    for scalar in CleanText.line(text).unicodeScalars {
      bytes += UTF8.width(scalar)
      if bytes > labelBytes { break }
      label.unicodeScalars.append(scalar)
    }
    return label
  }
}
