/// A process that is attached to crashd.
public struct ProcessSummary: Codable, Sendable, Equatable {
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
  /// How much of its memory is stored when it crashes; nil from an older crashd.
  public var memory: Memory?
  /// The result of its last `Shield.selfTest`; nil where there was none, and from an older crashd.
  public var selfTest: SelfTest?

  /// Whether the guards of a process still absorb, as it reports.
  public struct SelfTest: Codable, Sendable, Equatable {
    /// The tested kinds of guards.
    public var asked: [String]
    /// The kinds with a failed check.
    public var failing: [String]
    /// The number of checks.
    public var checks: Int
    /// The number of failed checks.
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

  /// Makes one from its parts.
  package init(
    pid: Int, uid: Int, name: String, executable: String, buildID: String, startTime: String, attachTime: String,
    state: String, memory: Memory? = nil, selfTest: SelfTest? = nil
  ) {
    (self.pid, self.uid, self.name, self.executable, self.buildID) = (pid, uid, name, executable, buildID)
    (self.startTime, self.attachTime, self.state, self.memory, self.selfTest) = (
      startTime, attachTime, state, memory, selfTest
    )
  }
}

/// The result of `AwaitProcess`.
public struct ProcessOutcome: Codable, Sendable, Equatable {
  /// Whether the process ever attached.
  public var attached: Bool
  /// Whether everything that it wrote is stored; false after a time-out.
  public var settled: Bool
  /// The ids of its reports.
  public var reports: [String]

  /// Makes one from its parts.
  package init(attached: Bool, settled: Bool, reports: [String]) {
    (self.attached, self.settled, self.reports) = (attached, settled, reports)
  }
}
