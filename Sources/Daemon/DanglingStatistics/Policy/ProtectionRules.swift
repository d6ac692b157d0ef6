/// The amount of quarantine memory for a service.
public enum ProtectionLevel: String, Sendable, Hashable, Codable, CaseIterable {
  /// No class is protected.
  case off
  /// The small budget, for the classes that are listed.
  case base
  /// The large budget, after an alarm or by the operator's override.
  case raised
}

/// The operator's override of the statistics.
public enum Pin: String, Sendable, Hashable, Codable, CaseIterable {
  /// The alarm raises, the stop rule lowers.
  case automatic
  /// The large budget, always.
  case on
  /// No protection, always.
  case off
}

/// The operator's rules for one service.
public struct ProtectionRules: Sendable, Hashable, Codable {
  /// Overrides everything else.
  public var pin: Pin
  /// Whether an alarm may raise the level and list classes automatically; if not, it only advises.
  public var allowsAutomaticProtection: Bool
  /// Classes that are protected as long as the level is not off.
  public var listedClasses: Set<String>
  /// Classes that are never protected, whatever names them.
  public var releasedClasses: Set<String>
  /// Quarantine memory of a process at the base level.
  public var baseBudgetBytes: UInt64
  /// Quarantine memory of a process at the raised level.
  public var raisedBudgetBytes: UInt64
  /// Mean days to a false alarm, at least.
  public var alarmThreshold_days: Double
  /// The e-value at which a new build counts as worse: 100 means at most one false alarm in 100 builds.
  public var buildThreshold: Double
  /// A raised level ends after so many days at the latest.
  public var raisedAtMost_days: Double
  /// A raised level ends after so many hits in a row that showed no new group; 59 leave less than 5 % unseen.
  public var enoughHitsWithoutNewGroup: Int
  /// The e-value at which the use-after-free accesses count as rarer than at the alarm.
  public var dropThreshold: Double
  /// Crashes of one instance closer together than this count once: a restart loop is one event.
  public var crashLoop_s: Double
  /// A class that an alarm listed is released when it was not reported for so many days.
  public var suspectMemory_days: Double

  /// The default rules of a service, except for the given ones.
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

/// The protection of a service's processes: the result of the policy.
public struct Protection: Sendable, Hashable, Codable {
  /// The level.
  public var level: ProtectionLevel
  /// Quarantine memory of one process.
  public var budgetBytes: UInt64
  /// The classes to protect, in order.
  public var classes: [String]
  /// Classes that are excluded even where all classes of the program are protected, in order.
  public var releasedClasses: [String]
  /// Whether all classes that the program defines are protected, because crashes named none.
  public var includesOwnClasses: Bool
}
