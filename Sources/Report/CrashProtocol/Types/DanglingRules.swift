/// An operator's changes to a program's rules; nil: no change.
public struct DanglingRules: Codable, Sendable, Equatable {
  /// The operator's override of the level.
  public var pin: DanglingPolicyReport.Pin?
  /// Whether an alarm may raise the level.
  public var automatic: Bool?
  /// The limit of the quarantine in one process at the level `base`.
  public var baseBudgetBytes: Int?
  /// The same at the level `raised`.
  public var raisedBudgetBytes: Int?
  /// Restarted processes that crash within this time count once.
  public var crashLoopSeconds: Int?
  /// Days between two false alarms, at least.
  public var alarmThresholdDays: Int?

  enum CodingKeys: String, CodingKey {
    case pin, automatic, baseBudgetBytes, raisedBudgetBytes
    case crashLoopSeconds = "crashLoop_s"
    case alarmThresholdDays = "alarmThreshold_days"
  }

  /// Starts without changes.
  public init() {}
}

/// The result of a change.
public struct DanglingChange: Codable, Sendable, Equatable {
  /// The names of the programs.
  public var services: [String]
  /// Their attached processes.
  public var processes: Int
  /// Processes that have applied it so far.
  public var applied: Int

  /// Makes one from its parts.
  public init(services: [String], processes: Int, applied: Int) {
    self.services = services
    self.processes = processes
    self.applied = applied
  }
}
