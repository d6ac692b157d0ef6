package import CrashReport

/// The summary of a report, as `List` returns it.
public struct ReportSummary: Codable, Sendable, Equatable {
  /// The cursor of the report in the store.
  ///
  /// `ListQuery.before` continues a list there.
  public var cursor: String
  /// The report's id.
  public var id: String
  /// The time of the crash, RFC 3339 in UTC.
  public var time: String
  /// The pid.
  public var pid: Int
  /// The uid of the process.
  public var uid: Int
  /// The program's name.
  public var name: String
  /// The executable's path.
  public var executable: String
  /// The systemd unit, if there is one.
  public var unit: String?
  /// The name of the signal, such as `SIGILL`.
  public var signal: String
  /// The runtime error message.
  ///
  /// May be empty.
  public var reason: String
  /// The diagnosis as a sentence.
  public var sentence: String
  /// The first in-app function.
  ///
  /// May be empty.
  public var function: String
  /// The source file of this function.
  public var file: String?
  /// The line in the source file.
  public var line: Int?
  /// The key of the group, which is equal for crashes of one group.
  public var groupKey: String
  /// The group's title for people.
  public var groupTitle: String
  /// True while crashd reads the symbols of the crash.
  ///
  /// Names and the group are then missing, and subscribers have not received the report.
  public var isPreliminary: Bool?
  /// The release, from the program's annotation.
  public var release: String?
  /// The environment, from the program's annotation.
  public var environment: String?
  /// The user, from the program's annotation.
  public var user: String?

  /// Summarizes a report.
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
  /// The frame that names the crash in a list: the first in-app frame of the crashing thread, otherwise the first frame
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
  /// The number of reports after the last one of this page, or nil if the query did not request it, and from an older
  /// crashd.
  public var more: Int?

  /// Creates a page.
  public init(reports: [ReportSummary], more: Int?) {
    self.reports = reports
    self.more = more
  }
}
