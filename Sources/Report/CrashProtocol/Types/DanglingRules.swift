/// What an operator changes of a program's rules; nil: it stays.
public struct DanglingRules: Codable, Sendable, Equatable {
  /// What the operator says of the level.
  public var pin: DanglingPolicyReport.Pin?
  /// Whether an alarm may raise the level.
  public var automatic: Bool?
  /// What the quarantine of one process may hold at the level `base`.
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

  /// Changes nothing yet.
  public init() {}
}

/// What came of a change.
public struct DanglingChange: Codable, Sendable, Equatable {
  /// The names of the programs.
  public var services: [String]
  /// Their attached processes.
  public var processes: Int
  /// Those that have applied it so far.
  public var obeying: Int

  /// Makes one from its parts.
  public init(services: [String], processes: Int, obeying: Int) {
    self.services = services
    self.processes = processes
    self.obeying = obeying
  }
}
