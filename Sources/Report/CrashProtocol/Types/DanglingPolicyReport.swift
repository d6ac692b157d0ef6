public import CrashReport

/// The use-after-free protection of one program of one user: its rules, the origin of the rules, and the statistics
/// from which crashd derived them.
public struct DanglingPolicyReport: Codable, Sendable, Equatable {
  /// A class that is protected under this policy.
  public struct Class: Codable, Sendable, Equatable {
    /// The full name of the class.
    public var name: String
    /// The cause for which the class is protected.
    public var listedBy: ListedBy
    /// The mode of the quarantine for objects of the class.
    public var mode: IncidentReport.Mode
    /// The maximum number of quarantined objects of the class.
    public var limit: Int

    /// Creates a value from its parts.
    package init(name: String, listedBy: ListedBy, mode: IncidentReport.Mode, limit: Int) {
      (self.name, self.listedBy, self.mode, self.limit) = (name, listedBy, mode, limit)
    }
  }

  /// The counts of one day in UTC.
  public struct Day: Codable, Sendable, Equatable {
    /// The date, such as `2026-11-22`.
    public var date: String
    /// The number of reports whose cause is a use-after-free.
    public var crashes: Int
    /// The number of use-after-free crashes that the statistics included.
    public var counted: Int
    /// The number of accesses that the quarantine detected.
    public var hits: Int
    /// The total running time of all processes, in hours.
    public var processHours: Double
    /// The number of crashes by build.
    public var builds: [String: Int]

    /// Creates a day without events.
    public init(date: String) {
      self.date = date
      (crashes, counted, hits, processHours, builds) = (0, 0, 0, 0, [:])
    }

    /// Creates a value from its parts.
    package init(date: String, crashes: Int, counted: Int, hits: Int, processHours: Double, builds: [String: Int]) {
      (self.date, self.crashes, self.counted, self.hits, self.processHours) = (
        date, crashes, counted, hits, processHours
      )
      self.builds = builds
    }
  }

  /// The progress toward lowering the protection level.
  ///
  /// The progress exists only while the level is raised.
  public struct Stop: Codable, Sendable, Equatable {
    /// The time when the level was raised, as RFC 3339 in UTC.
    public var since: String
    /// The number of accesses that were detected since the level was raised.
    public var hits: Int
    /// The number of call sites of the accesses that were detected since the level was raised.
    public var groups: Int
    /// The number of detected accesses since the last access from a new call site.
    public var runWithoutNewGroup: Int
    /// The number of consecutive accesses without a new call site at which the level is lowered.
    public var enoughHitsWithoutNewGroup: Int
    /// The estimated share of accesses that come from unknown call sites.
    public var unseenShare: Double
    /// The current evidence that accesses have become rarer.
    public var dropEvidence: Double
    /// The evidence at which the level is lowered.
    public var dropThreshold: Double
    /// The number of days since the level was raised.
    public var days: Double
    /// The number of days after which the level is lowered in any case.
    public var atMostDays: Double

    enum CodingKeys: String, CodingKey {
      case since, hits, groups, runWithoutNewGroup, enoughHitsWithoutNewGroup, unseenShare, dropEvidence
      case dropThreshold, days
      case atMostDays = "atMost_days"
    }

    /// Creates a value from its parts.
    package init(
      since: String, hits: Int, groups: Int, runWithoutNewGroup: Int, enoughHitsWithoutNewGroup: Int,
      unseenShare: Double, dropEvidence: Double, dropThreshold: Double, days: Double, atMostDays: Double
    ) {
      (self.since, self.hits, self.groups, self.runWithoutNewGroup, self.enoughHitsWithoutNewGroup) = (
        since, hits, groups, runWithoutNewGroup, enoughHitsWithoutNewGroup
      )
      (self.unseenShare, self.dropEvidence, self.dropThreshold, self.days, self.atMostDays) = (
        unseenShare, dropEvidence, dropThreshold, days, atMostDays
      )
    }
  }

  /// The user ID of the program's processes.
  public var uid: Int
  /// The name of the program.
  public var name: String
  /// The path of the program's executable.
  public var program: String
  /// The level of the protection.
  public var level: Level
  /// The operator's override of the level.
  public var pin: Pin
  /// Whether an alarm is allowed to raise the level.
  public var isAutomaticAllowed: Bool
  /// The current limit of the quarantine in each process, in bytes.
  public var budgetBytes: Int
  /// The limit of the quarantine in each process at the level `base`, in bytes.
  public var baseBudgetBytes: Int
  /// The limit of the quarantine in each process at the level `raised`, in bytes.
  public var raisedBudgetBytes: Int
  /// The time within which the crashes of a process that is restarted again and again count as one crash.
  public var crashLoopSeconds: Double
  /// The current value of the change detector for crashes.
  public var evidence: Double
  /// The value at which the change detector raises an alarm.
  ///
  /// This value equals the minimum mean number of days between two false alarms.
  public var alarmThresholdDays: Double
  /// The usual number of crashes per day.
  public var usualPerDay: Double
  /// The number of use-after-free crashes that the statistics included.
  public var countedCrashes: Int
  /// The classes that are protected now.
  public var classes: [Class]
  /// The classes that are never protected.
  public var releasedClasses: [String]
  /// Whether all classes that the program itself defines are protected.
  ///
  /// All these classes are protected if the program's crashes did not name a class.
  public var includesOwnClasses: Bool
  /// The number of attached processes.
  public var processes: Int
  /// The number of processes that have applied the policy.
  public var applied: Int
  /// The reasons why processes rejected the policy, by class.
  public var refusals: [String: String]
  /// The counts of the last days with events.
  ///
  /// The latest day comes last.
  public var days: [Day]
  /// The progress toward lowering the protection level.
  ///
  /// The value is nil if the level is not raised.
  public var stop: Stop?
  /// The reason for the last change of the level, as a sentence.
  public var lastSwitch: String?
  /// The time of the last change of the level, as RFC 3339 in UTC.
  public var lastSwitchTime: String?

  enum CodingKeys: String, CodingKey {
    case uid, name, program, level, pin, isAutomaticAllowed, budgetBytes, baseBudgetBytes, raisedBudgetBytes
    case evidence, countedCrashes, classes, releasedClasses, includesOwnClasses, processes, applied, refusals, days
    case stop, lastSwitch, lastSwitchTime
    case crashLoopSeconds = "crashLoop_s"
    case alarmThresholdDays = "alarmThreshold_days"
    case usualPerDay = "usual_perDay"
  }

  /// Creates a value from its parts.
  package init(
    uid: Int, name: String, program: String, level: Level, pin: Pin, isAutomaticAllowed: Bool, budgetBytes: Int,
    baseBudgetBytes: Int, raisedBudgetBytes: Int, crashLoopSeconds: Double, evidence: Double,
    alarmThresholdDays: Double, usualPerDay: Double, countedCrashes: Int, classes: [Class], releasedClasses: [String],
    includesOwnClasses: Bool, processes: Int, applied: Int, refusals: [String: String], days: [Day], stop: Stop? = nil,
    lastSwitch: String? = nil, lastSwitchTime: String? = nil
  ) {
    (self.uid, self.name, self.program, self.level, self.pin) = (uid, name, program, level, pin)
    (self.isAutomaticAllowed, self.budgetBytes, self.baseBudgetBytes, self.raisedBudgetBytes, self.crashLoopSeconds) = (
      isAutomaticAllowed, budgetBytes, baseBudgetBytes, raisedBudgetBytes, crashLoopSeconds
    )
    (self.evidence, self.alarmThresholdDays, self.usualPerDay, self.countedCrashes, self.classes) = (
      evidence, alarmThresholdDays, usualPerDay, countedCrashes, classes
    )
    (self.releasedClasses, self.includesOwnClasses, self.processes, self.applied, self.refusals) = (
      releasedClasses, includesOwnClasses, processes, applied, refusals
    )
    (self.days, self.stop, self.lastSwitch, self.lastSwitchTime) = (days, stop, lastSwitch, lastSwitchTime)
  }
}
