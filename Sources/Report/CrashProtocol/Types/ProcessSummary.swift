/// A process that is attached to crashd.
public struct ProcessSummary: Codable, Sendable, Equatable {
  /// The pid.
  public var pid: Int
  /// The uid of the process.
  public var uid: Int
  /// The program's name.
  public var name: String
  /// The executable's path.
  public var executable: String
  /// The executable's GNU build id.
  public var buildID: String
  /// The time at which the process started, RFC 3339 in UTC.
  public var startTime: String
  /// The time at which the process attached, RFC 3339 in UTC.
  public var attachTime: String
  /// The state as a word for people, such as `running`.
  public var state: String
  /// The part of the process's memory that a report stores, or nil from an older crashd.
  public var memory: Memory?
  /// The result of the last `Shield.selfTest` of the process, or nil if there was none, and from an older crashd.
  public var selfTest: SelfTest?

  /// The result of a guard self-test, as the process reported it.
  public struct SelfTest: Codable, Sendable, Equatable {
    /// The tested kinds of guards.
    public var asked: [String]
    /// The kinds with a failed check.
    public var failing: [String]
    /// The number of checks.
    public var checks: Int
    /// The number of failed checks.
    public var failures: Int
    /// The time at which the self-test ended, RFC 3339 in UTC.
    public var time: String

    /// Creates a value from its parts.
    public init(asked: [String], failing: [String], checks: Int, failures: Int, time: String) {
      self.asked = asked
      self.failing = failing
      self.checks = checks
      self.failures = failures
      self.time = time
    }
  }

  /// Creates a value from its parts.
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
  /// Whether all crashes that the process recorded are stored.
  ///
  /// False after a timeout.
  public var settled: Bool
  /// The ids of the reports of the process.
  public var reports: [String]

  /// Creates a value from its parts.
  package init(attached: Bool, settled: Bool, reports: [String]) {
    (self.attached, self.settled, self.reports) = (attached, settled, reports)
  }
}
