/// The level of protection of a service, which decides the amount of quarantine memory.
public enum ProtectionLevel: String, Sendable, Hashable, Codable, CaseIterable {
  /// No class is protected.
  case off
  /// The listed classes are protected with the small budget.
  case base
  /// The large budget is used, after an alarm or by the operator's override.
  case raised
}

/// The operator's override of the statistics.
public enum Pin: String, Sendable, Hashable, Codable, CaseIterable {
  /// Alarms raise the level, and the stop rule lowers it.
  case automatic
  /// The large budget is always used.
  case on
  /// No class is ever protected.
  case off
}

/// The operator's rules for one service.
public struct ProtectionRules: Sendable, Hashable, Codable {
  /// The operator's override, which takes precedence over everything else.
  public var pin: Pin
  /// Whether an alarm may raise the level and list classes automatically.
  ///
  /// If not, an alarm only gives advice.
  public var allowsAutomaticProtection: Bool
  /// The classes that are protected at every level except off.
  public var listedClasses: Set<String>
  /// The classes that are never protected, even if crashes name them.
  public var releasedClasses: Set<String>
  /// The quarantine memory of a process at the base level.
  public var baseBudgetBytes: UInt64
  /// The quarantine memory of a process at the raised level.
  public var raisedBudgetBytes: UInt64
  /// The lowest accepted mean number of days to a false alarm.
  public var alarmThreshold_days: Double
  /// The e-value at which a new build counts as worse.
  ///
  /// 100 means at most one false alarm in 100 builds.
  public var buildThreshold: Double
  /// The number of days after which a raised level ends at the latest.
  public var raisedAtMost_days: Double
  /// The number of hits in a row without a new group after which a raised level ends.
  ///
  /// With 59, less than 5 % of the accesses are in unseen groups.
  public var enoughHitsWithoutNewGroup: Int
  /// The e-value at which use-after-free accesses count as rarer than at the alarm.
  public var dropThreshold: Double
  /// Crashes of one instance within this time count once, so that a restart loop is one event.
  public var crashLoop_s: Double
  /// The number of days without a report after which a class that an alarm listed is released.
  public var suspectMemory_days: Double

  /// Makes rules with the given values and defaults for the others.
  public init(
    pin: Pin = .automatic, allowsAutomaticProtection: Bool = false, listedClasses: Set<String> = [],
    releasedClasses: Set<String> = [],
    baseBudgetBytes: UInt64 = 256 << 10, raisedBudgetBytes: UInt64 = 4 << 20, alarmThreshold_days: Double = 365,
    buildThreshold: Double = 100, raisedAtMost_days: Double = 7, enoughHitsWithoutNewGroup: Int = 59,
    dropThreshold: Double = 20, crashLoop_s: Double = 3_600, suspectMemory_days: Double = 30
  ) {
    self.pin = pin
    self.allowsAutomaticProtection = allowsAutomaticProtection
    self.listedClasses = listedClasses
    self.releasedClasses = releasedClasses
    self.baseBudgetBytes = baseBudgetBytes
    self.raisedBudgetBytes = raisedBudgetBytes
    self.alarmThreshold_days = alarmThreshold_days
    self.buildThreshold = buildThreshold
    self.raisedAtMost_days = raisedAtMost_days
    self.enoughHitsWithoutNewGroup = enoughHitsWithoutNewGroup
    self.dropThreshold = dropThreshold
    self.crashLoop_s = crashLoop_s
    self.suspectMemory_days = suspectMemory_days
  }
}

/// The protection of a service's processes, which is the result of the policy.
public struct Protection: Sendable, Hashable, Codable {
  /// The level.
  public var level: ProtectionLevel
  /// The quarantine memory of one process.
  public var budgetBytes: UInt64
  /// The classes to protect, sorted.
  public var classes: [String]
  /// The classes that are excluded even if all classes of the program are protected, sorted.
  public var releasedClasses: [String]
  /// Whether all classes that the program defines are protected, because crashes named no class.
  public var includesOwnClasses: Bool
}
