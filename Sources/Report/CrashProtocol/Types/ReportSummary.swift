package import CrashReport

/// The summary of a report, as `List` returns it.
public struct ReportSummary: Codable, Sendable, Equatable {
  /// The cursor of the report in the store.
  ///
  /// To continue a list after this report, pass the cursor as `ListQuery.before`.
  public var cursor: String
  /// The id of the report.
  public var id: String
  /// The time of the crash, as RFC 3339 in UTC.
  public var time: String
  /// The pid of the process.
  public var pid: Int
  /// The uid of the process.
  public var uid: Int
  /// The name of the program.
  public var name: String
  /// The path of the executable.
  public var executable: String
  /// The systemd unit, if there is one.
  public var unit: String?
  /// The name of the signal, such as `SIGILL`.
  public var signal: String
  /// The runtime error message; can be empty.
  public var reason: String
  /// The diagnosis as a sentence.
  public var sentence: String
  /// The name of the first in-app function; can be empty.
  public var function: String
  /// The source file of `function`.
  public var file: String?
  /// The line in `file`.
  public var line: Int?
  /// The key of the group.
  ///
  /// Crashes of one group have the same key.
  public var groupKey: String
  /// The readable title of the group.
  public var groupTitle: String
  /// The value is true while crashd is still reading the symbols of the crash.
  ///
  /// During this time, the function names and the group key are missing, and no subscriber has received the report.
  public var isPreliminary: Bool?
  /// The value of the program's annotation `release`.
  public var release: String?
  /// The value of the program's annotation `environment`.
  public var environment: String?
  /// The value of the program's annotation `user`.
  public var user: String?
  /// The operation of the request in which the thread that crashed first was working.
  public var route: String?
  /// The trace id of the request in which the thread that crashed first was working.
  public var traceID: String?
  /// The id of the process's container.
  public var containerID: String?
  /// The name of the process's Kubernetes pod.
  public var pod: String?
  /// The namespace of the process's Kubernetes pod.
  public var namespace: String?

  /// Creates the summary of a report.
  package init(_ report: CrashReport, cursor: String) {
    let (process, frame) = (report.process, report.namingFrame)
    (self.cursor, id, time, pid, uid) = (cursor, report.id, report.time, process.pid, process.uid)
    (name, executable, unit, signal) = (process.name, process.executable, process.unit, report.signal.name)
    (reason, sentence) = (report.reason, report.diagnosis.sentence)
    (function, file, line) = (frame?.function ?? "", frame?.file, frame?.line)
    (groupKey, groupTitle) = (report.group.key, report.group.title)
    isPreliminary = report.isPreliminary == true ? true : nil
    (release, environment, user) = (report[.release], report[.environment], report[.user])
    (route, traceID) = (report.requestFields["route"], report.requestFields["traceID"])
    let tags = report.tags
    (containerID, pod) = (tags["container.id"], tags["k8s.pod.name"])
    namespace = tags["k8s.namespace.name"]
  }
}

extension CrashReport {
  /// The frame whose function represents the crash in a list.
  ///
  /// The frame is the first in-app frame of the crashing thread, or, if there is none, the thread's first frame with a
  /// function name.
  fileprivate var namingFrame: Frame? {
    guard let frames = threads.first?.frames else { return nil }
    return frames.first { $0.isOwn && !$0.function.isEmpty } ?? frames.first { !$0.function.isEmpty }
  }
}

/// One page of the reports that a query selects.
public struct ReportPage: Codable, Sendable, Equatable {
  /// The reports on the page.
  public var reports: [ReportSummary]
  /// The number of reports after this page.
  ///
  /// The value is nil if the query did not request the number, and in replies of a crashd version without this
  /// property.
  public var more: Int?

  /// Creates a page.
  public init(reports: [ReportSummary], more: Int?) {
    self.reports = reports
    self.more = more
  }
}
