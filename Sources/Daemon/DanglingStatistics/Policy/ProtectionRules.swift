/// The protection level of a service, which determines the amount of quarantine memory.
public enum ProtectionLevel: String, Sendable, Hashable, Codable, CaseIterable {
  /// No class is protected.
  case off
  /// The listed classes are protected with the small memory budget.
  case base
  /// The large memory budget is used, because of an alarm or an override of the operator.
  case raised
}

/// The operator's choice between the statistics and a fixed level.
public enum Pin: String, Sendable, Hashable, Codable, CaseIterable {
  /// Alarms raise the level, and the stop rule lowers it.
  case automatic
  /// The large memory budget is always used.
  case on
  /// No class is ever protected.
  case off
}

/// The operator's rules for one service.
public struct ProtectionRules: Sendable, Hashable, Codable {
  /// The operator's choice, which takes precedence over all other rules and over the statistics.
  public var pin: Pin
  /// Whether an alarm may raise the level and list classes automatically; if not, an alarm only gives advice.
  public var allowsAutomaticProtection: Bool
  /// The classes that are protected at every level except `off`.
  public var listedClasses: Set<String>
  /// The classes that are never protected, even if crashes name them.
  public var releasedClasses: Set<String>
  /// The bytes of quarantine memory of one process at the base level.
  public var baseBudgetBytes: UInt64
  /// The bytes of quarantine memory of one process at the raised level.
  public var raisedBudgetBytes: UInt64
  /// The minimum of the mean number of days until a false alarm.
  public var alarmThreshold_days: Double
  /// The e-value at which a new build is treated as worse than the old builds.
  ///
  /// With the value 100, there is at most one false alarm in 100 builds.
  public var buildThreshold: Double
  /// The maximum number of days of a raised level.
  public var raisedAtMost_days: Double
  /// The number of hits in a row without a new group after which a raised level ends.
  ///
  /// With the value 59, less than 5 % of the accesses are in groups without hits.
  public var enoughHitsWithoutNewGroup: Int
  /// The e-value at which use-after-free accesses are treated as rarer than at the alarm.
  public var dropThreshold: Double
  /// The time within which several crashes of one instance count as one crash, because of a restart loop.
  public var crashLoop_s: Double
  /// The number of days after which a class that an alarm listed is released if it was not reported.
  public var suspectMemory_days: Double

  /// Makes rules with the given values, and with default values for the other rules.
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
  /// The bytes of quarantine memory of one process.
  public var budgetBytes: UInt64
  /// The classes to protect, in sorted order.
  public var classes: [String]
  /// The classes that are excluded even if all classes of the program are protected, in sorted order.
  public var releasedClasses: [String]
  /// Whether all classes that the program defines are protected, because the crashes did not name a class.
  public var includesOwnClasses: Bool
}
