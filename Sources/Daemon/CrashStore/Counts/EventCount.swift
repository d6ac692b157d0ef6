import CrashReport

/// How often one kind of event happened in one program: the row behind one sample of the metrics.
///
/// The labels of a metric must stay few, and the program chooses its own name. So names are short, each user has a limited
/// number of programs and rows, and further ones are counted under `other`.
public struct EventCount: Codable, Sendable, Equatable {
  /// The user of its process: the kernel's word, unlike the names.
  public var uid = 0
  /// The program's name; `other`: programs beyond the limit.
  public var program: String
  /// Its systemd unit; empty: none, or not known.
  public var unit: String
  /// The signal of a crash; the source of an incident.
  public var kind: String
  /// The cause of a crash; the kind of an incident.
  public var detail: String
  /// How many.
  public var count: Int
  /// The time of the last one, RFC 3339 in UTC.
  public var last: String

  /// What is counted.
  public enum Event: String, Sendable {
    /// Crashes and unreported exits.
    case crash
    /// Incidents: faults that the program survived.
    case incident
  }

  /// Programs of one user with counts of their own.
  public static let programLimit = 128
  /// Rows of one user that are not `other`'s.
  public static let rowLimit = 1_024
  /// Rows of all users; beyond them the user with the most loses the oldest.
  public static let totalLimit = 4_096
  /// A program without events for so long makes room for a new one, when its user has too many.
  static let rest_s = 7 * 86_400
  /// Counts end here, so that no sum of them overflows.
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

  /// `before`: what was counted of this incident already.
  init(_ incident: IncidentReport, before: Int) {
    uid = incident.process.uid
    (program, unit) = (Self.label(incident.process.name), "")
    (kind, detail) = (Self.label(incident.source.rawValue), Self.label(incident.kind.rawValue))
    let (more, isTooMany) = incident.count.subtractingReportingOverflow(before)
    (count, last) = (isTooMany ? 0 : min(max(0, more), Self.mostEvents), incident.last)
  }

  /// The same event, counted where there is no room for its own row.
  func other(_ lack: FullShares.Lack) -> EventCount {
    var other = self
    (other.program, other.unit) = ("other", "")
    if lack == .rows { (other.kind, other.detail) = ("other", "other") }
    return other
  }

  /// A label in one line, of at most 64 bytes.
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
