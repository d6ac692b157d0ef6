package import CrashReport

/// A report, as `List` returns it.
public struct ReportSummary: Codable, Sendable, Equatable {
  /// The cursor in the store; `ListQuery.before` continues there.
  public var cursor: String
  /// The report's id.
  public var id: String
  /// The time of the crash, RFC 3339 in UTC.
  public var time: String
  /// The process.
  public var pid: Int
  /// Its user.
  public var uid: Int
  /// The program's name.
  public var name: String
  /// The executable's path.
  public var executable: String
  /// The systemd unit, where there is one.
  public var unit: String?
  /// Such as `SIGILL`.
  public var signal: String
  /// The runtime's error message; may be empty.
  public var reason: String
  /// The diagnosis for people.
  public var sentence: String
  /// The first in-app function; may be empty.
  public var function: String
  /// Its source file.
  public var file: String?
  /// Its line.
  public var line: Int?
  /// Equal for crashes of one group.
  public var groupKey: String
  /// The group's title for people.
  public var groupTitle: String
  /// True while crashd reads its symbols: names and the group are missing, and no subscriber has it yet.
  public var isPreliminary: Bool?
  /// The release that the program names.
  public var release: String?
  /// The environment that it names.
  public var environment: String?
  /// The user that it names.
  public var user: String?

  /// Summarises a report.
  package init(_ report: CrashReport, cursor: String) {
    let (process, frame) = (report.process, report.namingFrame)
    (self.cursor, id, time, pid, uid) = (cursor, report.id, report.time, process.pid, process.uid)
    (name, executable, unit, signal) = (process.name, process.executable, process.unit, report.signal.name)
    (reason, sentence) = (report.reason, report.diagnosis.sentence)
    (function, file, line) = (frame?.function ?? "", frame?.file, frame?.line)
    (groupKey, groupTitle) = (report.group.key, report.group.title)
    isPreliminary = report.isPreliminary == true ? true : nil
    (release, environment, user) = (report[.release], report[.environment], report[.user])
  }
}

extension CrashReport {
  /// The frame that names the crash in a list: the first in-app frame of the crashing thread, otherwise its first frame
  /// with a name.
  fileprivate var namingFrame: Frame? {
    guard let frames = threads.first?.frames else { return nil }
    return frames.first { $0.isOwn && !$0.function.isEmpty } ?? frames.first { !$0.function.isEmpty }
  }
}

/// A page of the reports of a query.
public struct ReportPage: Codable, Sendable, Equatable {
  /// The reports.
  public var reports: [ReportSummary]
  /// How many more reports follow the last one; nil when the query did not ask, and from an older crashd.
  public var more: Int?

  /// Makes a page.
  public init(reports: [ReportSummary], more: Int?) {
    self.reports = reports
    self.more = more
  }
}
