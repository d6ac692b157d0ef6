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

  /// Makes one from its parts.
  package init(
    cursor: String, id: String, time: String, pid: Int, uid: Int, name: String, executable: String, unit: String? = nil,
    signal: String, reason: String, sentence: String, function: String, file: String? = nil, line: Int? = nil,
    groupKey: String, groupTitle: String, isPreliminary: Bool? = nil
  ) {
    (self.cursor, self.id, self.time, self.pid, self.uid) = (cursor, id, time, pid, uid)
    (self.name, self.executable, self.unit, self.signal, self.reason) = (name, executable, unit, signal, reason)
    (self.sentence, self.function, self.file, self.line, self.groupKey) = (sentence, function, file, line, groupKey)
    (self.groupTitle, self.isPreliminary) = (groupTitle, isPreliminary)
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
