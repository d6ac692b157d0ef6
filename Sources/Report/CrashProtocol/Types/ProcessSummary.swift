public import CrashReport

/// A process that is attached to crashd.
public struct ProcessSummary: Codable, Sendable, Equatable {
  /// The pid of the process.
  public var pid: Int
  /// The uid of the process.
  public var uid: Int
  /// The name of the program.
  public var name: String
  /// The path of the executable.
  public var executable: String
  /// The GNU build id of the executable.
  public var buildID: String
  /// The time when the process started, as RFC 3339 in UTC.
  public var startTime: String
  /// The time when the process attached, as RFC 3339 in UTC.
  public var attachTime: String
  /// The state as a readable word, such as `running`.
  public var state: String
  /// The part of the process's memory that reports contain.
  ///
  /// The value is nil in replies of a crashd version without this property.
  public var memory: Memory?
  /// The result of the last `Shield.selfTest` of the process.
  ///
  /// The value is nil if there is no result, and in replies of a crashd version without this property.
  public var selfTest: SelfTest?
  /// The settings and the state of containment in the process.
  ///
  /// The value is nil if containment is off, and in replies of a crashd version without this property.
  public var containment: Containment?
  /// The id of the process's container; nil if it is unknown.
  public var containerID: String?
  /// The uid of the process's pod; nil if it is unknown.
  public var podUID: String?
  /// The name of the process's pod, according to the process.
  public var pod: String?
  /// The Kubernetes namespace of the process's pod, according to the process.
  public var namespace: String?
  /// Whether the pid is known only from the process itself, because the process runs in another pid namespace.
  ///
  /// The value is nil if the kernel confirmed the pid, and in replies of a crashd version without this property.
  public var isPIDClaimed: Bool?

  /// The settings and the state of containment in a process.
  public struct Containment: Codable, Sendable, Equatable {
    /// The reaction of the process to a trap, as chosen by the program.
    public var mode: CrashReport.Containment.Mode
    /// Why containment does not work in the process, or nil if it works.
    public var obstacle: CrashReport.Containment.Obstacle?
    /// The maximum number of traps that the process contains.
    public var budget: Int
    /// The number of traps that the process has contained.
    public var contained: Int
    /// Whether the process is draining.
    public var isDraining: Bool

    /// Creates a value from its parts.
    package init(
      mode: CrashReport.Containment.Mode, obstacle: CrashReport.Containment.Obstacle? = nil, budget: Int,
      contained: Int, isDraining: Bool
    ) {
      (self.mode, self.obstacle, self.budget, self.contained) = (mode, obstacle, budget, contained)
      self.isDraining = isDraining
    }
  }

  /// The result of a guard self-test, as the process reported it.
  public struct SelfTest: Codable, Sendable, Equatable {
    /// The kinds of guards that were tested.
    public var asked: [String]
    /// The kinds with a failed check.
    public var failing: [String]
    /// The number of checks in the self-test.
    public var checks: Int
    /// The number of failed checks in the self-test.
    public var failures: Int
    /// The time when the self-test ended, as RFC 3339 in UTC.
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
    state: String, memory: Memory? = nil, selfTest: SelfTest? = nil, containment: Containment? = nil,
    container: CrashReport.Container? = nil, isPIDClaimed: Bool? = nil
  ) {
    (self.pid, self.uid, self.name, self.executable, self.buildID) = (pid, uid, name, executable, buildID)
    (self.startTime, self.attachTime, self.state, self.memory, self.selfTest) = (
      startTime, attachTime, state, memory, selfTest
    )
    self.containment = containment
    (containerID, podUID, pod) = (container?.id, container?.podUID, container?.pod)
    (namespace, self.isPIDClaimed) = (container?.namespace, isPIDClaimed)
  }
}

/// The result of the call `AwaitProcess`.
public struct ProcessOutcome: Codable, Sendable, Equatable {
  /// Whether the process was attached at any time.
  public var attached: Bool
  /// Whether all crashes that the process recorded are stored.
  ///
  /// The value is false if the time-out ended the wait.
  public var settled: Bool
  /// The ids of the reports of the process.
  public var reports: [String]

  /// Creates a value from its parts.
  package init(attached: Bool, settled: Bool, reports: [String]) {
    (self.attached, self.settled, self.reports) = (attached, settled, reports)
  }
}
