/// The protection level of a service, which determines the amount of quarantine memory.
public enum ProtectionLevel: String, Sendable, Hashable, Codable, CaseIterable {
  /// No class is protected.
  case off
  /// The listed classes are protected with the small memory budget.
  case base
  /// The listed classes are protected with the large memory budget, because of an alarm or an override of the operator.
  case raised
}

/// The operator's choice between the statistics and a fixed level.
public enum Pin: String, Sendable, Hashable, Codable, CaseIterable {
  /// The statistics choose the level: alarms raise the level, and the stop rule lowers it.
  case automatic
  /// The level is always `raised`.
  case on
  /// No class is ever protected.
  case off
}

/// The operator's rules for one service.
public struct ProtectionRules: Sendable, Hashable, Codable {
  /// The operator's choice of the level, which takes precedence over all other rules and over the statistics.
  public var pin: Pin
  /// Whether an alarm is allowed to raise the level and list classes automatically.
  ///
  /// If the value is false, an alarm only gives advice.
  public var allowsAutomaticProtection: Bool
  /// The classes that are protected at every level except `off`.
  public var listedClasses: Set<String>
  /// The classes that are never protected, even if crashes name them.
  public var releasedClasses: Set<String>
  /// The bytes of quarantine memory of one process at the base level.
  public var baseBudgetBytes: UInt64
  /// The bytes of quarantine memory of one process at the raised level.
  public var raisedBudgetBytes: UInt64
  /// The accepted mean number of days between two false alarms; the detector ensures that the mean is not lower.
  public var alarmThreshold_days: Double
  /// The e-value (see `BuildComparison`) at which a new build is treated as worse than the old builds.
  ///
  /// With the value 100, the probability of a false alarm for a build is at most 1 %.
  public var buildThreshold: Double
  /// The maximum number of days for which an alarm raises the level.
  public var raisedAtMost_days: Double
  /// The number of successive hits (detected accesses) without a new group after which the raised level ends; a group
  /// is defined in `GroupCoverage`.
  ///
  /// With the value 59, less than 5 % of the accesses are in groups without hits, with 95 % confidence.
  public var enoughHitsWithoutNewGroup: Int
  /// The e-value (see `RateDrop`) at which use-after-free accesses are treated as rarer than at the alarm.
  public var dropThreshold: Double
  /// The time in seconds within which several crashes of one instance are counted as one crash, because they are a
  /// restart loop.
  public var crashLoop_s: Double
  /// The number of days without a crash or hit after which a class that an alarm or a hit added to the list is removed
  /// from it.
  public var suspectMemory_days: Double

  /// Creates rules with the given values, and with default values for the other fields.
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

/// The protection of a service's processes, as the `PolicyLoop` decided it.
public struct Protection: Sendable, Hashable, Codable {
  /// The level that is in effect.
  public var level: ProtectionLevel
  /// The maximum number of bytes of quarantine memory in one process.
  public var budgetBytes: UInt64
  /// The classes to protect, in sorted order.
  public var classes: [String]
  /// The classes, in sorted order, that are not protected even if all classes of the program are protected.
  public var releasedClasses: [String]
  /// Whether all classes that the program defines are protected, because some crashes did not name a class.
  public var includesOwnClasses: Bool
}
