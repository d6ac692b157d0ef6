/// An operator's changes to the rules of a program.
///
/// A property that is nil changes nothing.
public struct DanglingRules: Codable, Sendable, Equatable {
  /// The operator's override of the level.
  public var pin: DanglingPolicyReport.Pin?
  /// Whether an alarm is allowed to raise the level.
  public var automatic: Bool?
  /// The limit of the quarantine in each process at the level `base`, in bytes.
  public var baseBudgetBytes: Int?
  /// The limit of the quarantine in each process at the level `raised`, in bytes.
  public var raisedBudgetBytes: Int?
  /// The time within which the crashes of a process that is restarted again and again count as one crash.
  public var crashLoopSeconds: Int?
  /// The minimum mean number of days between two false alarms.
  public var alarmThresholdDays: Int?

  enum CodingKeys: String, CodingKey {
    case pin, automatic, baseBudgetBytes, raisedBudgetBytes
    case crashLoopSeconds = "crashLoop_s"
    case alarmThresholdDays = "alarmThreshold_days"
  }

  /// Creates rules without changes.
  public init() {}
}

/// The result of a change to the protection of programs.
public struct DanglingChange: Codable, Sendable, Equatable {
  /// The names of the changed programs.
  public var services: [String]
  /// The number of attached processes of the programs.
  public var processes: Int
  /// The number of processes that have applied the change so far.
  public var applied: Int

  /// Creates a value from its parts.
  public init(services: [String], processes: Int, applied: Int) {
    self.services = services
    self.processes = processes
    self.applied = applied
  }
}
