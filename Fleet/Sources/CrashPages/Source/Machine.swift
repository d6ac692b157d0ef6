/// A process that is attached to crashd.
public struct AttachedProcess: Codable, Sendable, Equatable {
  /// The host; nil if the source covers only one machine.
  public var host: String?
  /// The pid.
  public var pid: Int
  /// The name of the program.
  public var program: String
  /// The path of the executable.
  public var executable: String
  /// The build id of the executable.
  public var build: String
  /// The time when the process started.
  public var start: String
  /// The state, such as `running`.
  public var state: String
  /// Which memory reports contain, such as `full`, `scrubbed` or `none`.
  public var memory: String?
  /// The mode of containment; nil if containment is off.
  public var containment: String?
  /// The name of the pod, or the id of the container.
  public var container: String?

  /// Creates a process from its parts.
  public init(
    host: String? = nil, pid: Int, program: String, executable: String, build: String, start: String, state: String,
    memory: String? = nil, containment: String? = nil, container: String? = nil
  ) {
    (self.host, self.pid, self.program, self.executable) = (host, pid, program, executable)
    (self.build, self.start, self.state, self.memory) = (build, start, state, memory)
    (self.containment, self.container) = (containment, container)
  }
}

/// The crashes of one build.
public struct BuildSummary: Codable, Sendable, Equatable {
  /// The names of the programs.
  public var programs: [String]
  /// The build id.
  public var build: String
  /// The release, if it is known.
  public var release: String?
  /// The number of crashes.
  public var count: Int
  /// The number of issues.
  public var issues: Int
  /// The number of issues whose first crash was in this build.
  public var newIssues: Int
  /// The time of the first crash.
  public var first: String
  /// The time of the last crash.
  public var last: String
  /// The release health; nil if the source does not count process-hours.
  public var health: Health?

  /// The release health of a build.
  public struct Health: Codable, Sendable, Equatable {
    /// The hours that processes of the build ran.
    public var processHours: Double
    /// The number of crashes per 1,000 process-hours.
    public var crashesPer1000Hours: Double
    /// The lower end of its 95 % confidence interval.
    public var lower: Double
    /// The upper end of its 95 % confidence interval.
    public var upper: Double
    /// The share of requests that no crash lost; nil without a request counter.
    public var crashFreeRequests: Double?
    /// The result of the comparison with the previous build, such as `worse`.
    public var verdict: String?

    /// Creates a value from its parts.
    public init(
      processHours: Double, crashesPer1000Hours: Double, lower: Double, upper: Double,
      crashFreeRequests: Double? = nil, verdict: String? = nil
    ) {
      (self.processHours, self.crashesPer1000Hours) = (processHours, crashesPer1000Hours)
      (self.lower, self.upper) = (lower, upper)
      (self.crashFreeRequests, self.verdict) = (crashFreeRequests, verdict)
    }
  }

  /// Creates a summary from its parts.
  public init(
    programs: [String], build: String, release: String? = nil, count: Int, issues: Int, newIssues: Int, first: String,
    last: String, health: Health? = nil
  ) {
    (self.programs, self.build, self.release, self.count) = (programs, build, release, count)
    (self.issues, self.newIssues, self.first, self.last, self.health) = (issues, newIssues, first, last, health)
  }
}

/// The health of crashd, or of the service crash-fleet.
public struct ServiceHealth: Codable, Sendable, Equatable {
  /// Whether a value is good or bad.
  public enum Level: String, Codable, Sendable {
    case good, notice, bad
  }

  /// One named value.
  public struct Fact: Codable, Sendable, Equatable {
    /// The name.
    public var name: String
    /// The value as text.
    public var value: String
    /// Whether the value is good or bad; nil if it is neither.
    public var level: Level?

    /// Creates a fact.
    public init(_ name: String, _ value: String, _ level: Level? = nil) {
      (self.name, self.value, self.level) = (name, value, level)
    }

    /// Creates a fact whose value is a count.
    public init(_ name: String, count: Int, _ level: Level? = nil) {
      self.init(name, Figure(count).description, level)
    }
  }

  /// Facts under one title.
  public struct Section: Codable, Sendable, Equatable {
    /// The title.
    public var title: String
    /// The facts.
    public var facts: [Fact]

    /// Creates a section.
    public init(_ title: String, _ facts: [Fact]) { (self.title, self.facts) = (title, facts) }
  }

  /// The state in one sentence.
  public var sentence: String
  /// Whether the state is good or bad.
  public var level: Level
  /// The facts.
  public var sections: [Section]

  /// Creates a value from its parts.
  public init(sentence: String, level: Level, sections: [Section]) {
    (self.sentence, self.level, self.sections) = (sentence, level, sections)
  }
}
