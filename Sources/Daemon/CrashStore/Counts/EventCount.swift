import CrashReport

/// The number of events of one kind in one program.
///
/// Each value is one sample of the metrics.
///
/// The labels of a metric must be few, but programs choose their own names. Therefore names are shortened, and each
/// user has a limited number of programs and rows. Further programs and rows are counted under `other`.
public struct EventCount: Codable, Sendable, Equatable {
  /// The user of the process, as verified by the kernel.
  ///
  /// Names are not verified.
  public var uid = 0
  /// The program's name, or `other` for programs beyond the limit.
  public var program: String
  /// The systemd unit of the program; empty if there is none or it is unknown.
  public var unit: String
  /// The signal of a crash, or the source of an incident.
  public var kind: String
  /// The cause of a crash, or the kind of an incident.
  public var detail: String
  /// The number of events.
  public var count: Int
  /// The time of the last event, RFC 3339 in UTC.
  public var last: String

  /// The kinds of events that are counted.
  public enum Event: String, Sendable {
    /// Crashes and unreported exits.
    case crash
    /// Incidents, that is, faults that the program survived.
    case incident
  }

  /// The maximum number of programs of one user that have their own counts.
  public static let programLimit = 128
  /// The maximum number of rows of one user, not counting rows of `other`.
  public static let rowLimit = 1_024
  /// The maximum number of rows of all users.
  ///
  /// Beyond it, the user with the most rows loses the oldest row.
  public static let totalLimit = 4_096
  /// If a user has too many programs, a program without events for this time is removed to make room.
  static let rest_s = 7 * 86_400
  /// Counts saturate at this value, so that their sums do not overflow.
  static let mostEvents = 1 << 40
}

extension EventCount {
  private static let labelBytes = 64

  init(_ report: CrashReport) {
    uid = report.process.uid
    (program, unit) = (Self.label(report.process.name), Self.label(report.process.unit ?? ""))
    (kind, detail) = (Self.label(report.signal.name), Self.label(report.diagnosis.cause.rawValue))
    (count, last) = (1, report.time)
  }

  /// `before` is the number of occurrences of this incident that were counted earlier.
  init(_ incident: IncidentReport, before: Int) {
    uid = incident.process.uid
    (program, unit) = (Self.label(incident.process.name), "")
    (kind, detail) = (Self.label(incident.source.rawValue), Self.label(incident.kind.rawValue))
    let (more, isTooMany) = incident.count.subtractingReportingOverflow(before)
    (count, last) = (isTooMany ? 0 : min(max(0, more), Self.mostEvents), incident.last)
  }

  /// Returns the event as it is counted if there is no room for its own row.
  func other(_ lack: FullShares.Lack) -> EventCount {
    var other = self
    (other.program, other.unit) = ("other", "")
    if lack == .rows { (other.kind, other.detail) = ("other", "other") }
    return other
  }

  /// Returns a label on one line, of at most 64 bytes.
  private static func label(_ text: String) -> String {
    var (label, bytes) = ("", 0)
    for scalar in CleanText.line(text).unicodeScalars {
      bytes += UTF8.width(scalar)
      if bytes > labelBytes { break }
      label.unicodeScalars.append(scalar)
    }
    return label
  }
}
