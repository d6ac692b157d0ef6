public import CrashReport

/// A report, as `List` shows it.
public struct Summary: Codable, Sendable, Equatable {
  /// The position in the store; `ListQuery.before` continues there.
  public var cursor: String
  /// The report's id.
  public var id: String
  /// When it crashed, RFC 3339 in UTC.
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
  /// The first own function; may be empty.
  public var function: String
  /// Its source file.
  public var file: String?
  /// Its line.
  public var line: Int?
  /// Equal for crashes of one kind.
  public var groupKey: String
  /// For people.
  public var groupTitle: String
  /// True while crashd reads its symbols: names and the group are missing, and no subscriber has it yet.
  public var isPreliminary: Bool?
}

/// Reports of one kind.
public struct Group: Codable, Sendable, Equatable {
  /// Hexadecimal digits.
  public var key: String
  /// Whose processes.
  public var uid: Int
  /// For people.
  public var title: String
  /// How many crashes there were, with those whose report was removed since.
  public var count: Int
  /// When it was first seen, RFC 3339 in UTC.
  public var first: String
  /// When it was last seen.
  public var last: String
  /// How many builds have it.
  public var builds: Int
  /// The build id with which it was first seen.
  public var firstBuild: String
  /// The build id with which it was last seen.
  public var lastBuild: String
  /// The programs, eight at most.
  public var names: [String]
  /// `new`, `open`, `resolved` or `regressed`.
  public var state: String
  /// The newest report's id; empty when all of them were removed.
  public var report: String
}

/// Which reports `CrashClient.list` returns, from which `groups` makes groups, and which `subscribe` sends.
public struct ListQuery: Codable, Sendable, Equatable {
  /// At most so many; crashd may return fewer.
  public var limit: Int?
  /// Only reports older than this cursor: that of the last one of the previous page.
  public var before: String?
  /// Only reports newer than this cursor: the same where the oldest come first.
  public var after: String?
  /// The oldest first.
  public var oldestFirst: Bool?
  /// Only reports of this process.
  public var pid: Int?
  /// Only reports of programs whose name contains this.
  public var name: String?
  /// Only reports of the group whose key begins with this.
  public var group: String?
  /// Only reports of this systemd unit.
  public var unit: String?
  /// Only reports of this signal, such as `SIGSEGV`.
  public var signal: String?
  /// Only reports of executables whose path contains this.
  public var executable: String?
  /// Only crashes at or after this time, RFC 3339.
  public var since: String?
  /// Only crashes before or at this time, RFC 3339.
  public var until: String?
  /// Whether crashd is to count what is behind the page.
  public var count: Bool?

  /// Makes a query; without arguments it asks for all reports.
  public init(
    limit: Int? = nil, before: String? = nil, pid: Int? = nil, name: String? = nil, group: String? = nil,
    unit: String? = nil, signal: String? = nil, executable: String? = nil, since: String? = nil, until: String? = nil
  ) {
    self.limit = limit
    self.before = before
    self.pid = pid
    self.name = name
    self.group = group
    self.unit = unit
    self.signal = signal
    self.executable = executable
    self.since = since
    self.until = until
  }
}

/// Some of the reports that a query asks for.
public struct ReportPage: Decodable, Sendable, Equatable {
  /// The reports.
  public var reports: [Summary]
  /// How many more there are behind the last one; nil when the query did not ask, and from an older crashd.
  public var more: Int?

  /// Makes a page.
  public init(reports: [Summary], more: Int?) {
    self.reports = reports
    self.more = more
  }
}

/// A process that is attached to crashd.
public struct AttachedProcess: Codable, Sendable, Equatable {
  /// The process.
  public var pid: Int
  /// Its user.
  public var uid: Int
  /// The program's name.
  public var name: String
  /// The executable's path.
  public var executable: String
  /// The executable's GNU build id.
  public var buildID: String
  /// When it started, RFC 3339 in UTC.
  public var startTime: String
  /// When it attached, RFC 3339 in UTC.
  public var attachTime: String
  /// A state for people, such as `running`.
  public var state: String
  /// What is kept of its memory when it crashes: `full`, `scrubbed`, `none` (the program's choice), `withheld` (crashd's
  /// settings), `discarded` (the same; the program takes some, and crashd keeps none); nil from an older crashd.
  public var memory: String?
  /// What the last `Shield.selfTest` in it found; nil where there was none, and from an older crashd.
  public var selfTest: SelfTest?

  /// Whether the guards of a process still absorb, as it reports itself.
  public struct SelfTest: Codable, Sendable, Equatable {
    /// The kinds of guards that were asked.
    public var asked: [String]
    /// The kinds of which a check failed.
    public var failing: [String]
    /// How many checks were asked.
    public var checks: Int
    /// How many of them failed.
    public var failures: Int
    /// When it ended, RFC 3339 in UTC.
    public var time: String

    /// Makes one from its parts.
    public init(asked: [String], failing: [String], checks: Int, failures: Int, time: String) {
      self.asked = asked
      self.failing = failing
      self.checks = checks
      self.failures = failures
      self.time = time
    }
  }
}

/// How crashd is.
public struct DaemonStatus: Codable, Sendable, Equatable {
  /// Its version.
  public var version: String
  /// Its process.
  public var pid: Int
  /// Seconds since it started.
  public var uptimeSeconds: Int
  /// Attached processes.
  public var processes: Int
  /// Those of them that have ended, while crashd does not know everything of it yet.
  public var ending: Int
  /// Stored reports.
  public var reports: Int
  /// The store's size on disk.
  public var storeBytes: Int
  /// What could not be kept since it started, by kind.
  public var losses: [String: Int]
  /// What was refused since it started, by kind.
  public var refusals: [String: Int]
  /// Crashed threads that were unwound a second time, by what came of it; nil from an older crashd.
  public var unwindings: [String: Int]?
  /// Builds for whose debug information servers were asked, by what came of it; nil from an older crashd.
  public var debugInformation: [String: Int]?
  /// Reports that wait in memory because the store takes none; nil from an older crashd.
  public var held: Int?
  /// Files that wait in the spool; nil from an older crashd, or for who does not see everything.
  public var spooled: Int?
  /// Sentences about the store; none when all is well, nil from an older crashd.
  public var trouble: [String]?
  /// The access of the caller; nil from an older crashd.
  public var access: Access?

  /// Whose crashes a caller sees and changes.
  public struct Access: Codable, Sendable, Equatable {
    /// The uid that crashd sees.
    public var uid: Int
    /// Whether those of all users; else those of the caller's own processes.
    public var all: Bool
    /// The group whose members may everything, as root and crashd's own user: its name, or its number where the operator said
    /// that; nil: there is none.
    public var group: String?
  }

  enum CodingKeys: String, CodingKey {
    case version, pid, processes, ending, reports, storeBytes, losses, refusals, unwindings, debugInformation,
      held, spooled, trouble, access
    case uptimeSeconds = "uptime_s"
  }
}

/// What `AwaitProcess` found.
public struct ProcessOutcome: Codable, Sendable, Equatable {
  /// Whether the process ever attached.
  public var attached: Bool
  /// Whether everything that it wrote is stored; false after a time-out.
  public var settled: Bool
  /// The ids of its reports.
  public var reports: [String]
}

/// What the rules of the diagnosis say of a report.
public struct Explanation: Codable, Sendable, Equatable {
  /// The report's id.
  public var id: String
  /// What the report says.
  public var sentence: String
  /// In the order in which they are asked.
  public var rules: [CrashReport.RuleOutcome]
}

/// What `Reanalyse` made of a report.
public struct ReanalysedReport: Decodable, Sendable, Equatable {
  /// The report as it is now.
  public var report: ReceivedReport
  /// Whether it says something else than before.
  public var changed: Bool
}

/// A report, both as a value and as the JSON that came.
public struct ReceivedReport: Decodable, Sendable, Equatable {
  /// What this version knows of it.
  public var report: CrashReport
  /// All of it, with keys of later versions.
  public var json: JSONValue

  /// Reads both.
  /// - Throws: `DecodingError` when it is no report.
  public init(from decoder: any Decoder) throws {
    report = try CrashReport(from: decoder)
    json = try JSONValue(from: decoder)
  }
}

/// A class that a process protects, or did, and what was counted of it since it first was.
public struct ProtectedClass: Codable, Sendable, Equatable {
  /// The process.
  public var pid: Int
  /// Whose it is.
  public var uid: Int
  /// Its name.
  public var process: String
  /// The full name of the class.
  public var name: String
  /// Whether it is protected now.
  public var isProtected: Bool
  /// What becomes of its objects: `absorb`, `zero`, `diagnose`.
  public var mode: String
  /// How many of its objects are kept at most.
  public var limit: Int
  /// How large they are.
  public var instanceBytes: Int
  /// Objects that came into quarantine.
  public var admitted: Int
  /// Objects that left it.
  public var evicted: Int
  /// Uses of dead objects.
  public var hits: Int
  /// Objects that were not kept, by reason.
  public var skipped: [String: Int]
}
