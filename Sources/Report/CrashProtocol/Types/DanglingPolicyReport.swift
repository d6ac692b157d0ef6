public import CrashReport

/// The use-after-free protection of one program of a user: its rules, their sources, and the statistics behind them.
public struct DanglingPolicyReport: Codable, Sendable, Equatable {
  /// A protected class.
  public struct Class: Codable, Sendable, Equatable {
    /// The full name.
    public var name: String
    /// The source of the protection.
    public var listedBy: ListedBy
    /// The policy of the quarantine for objects of the class.
    public var mode: IncidentReport.Mode
    /// The maximum number of the class's objects in quarantine.
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
    /// The number of these crashes that the statistics counted.
    public var counted: Int
    /// The number of accesses that the quarantine detected.
    public var hits: Int
    /// The running time of all processes in hours.
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

  /// The progress toward lowering the level while it is raised.
  public struct Stop: Codable, Sendable, Equatable {
    /// The time at which the level was raised, RFC 3339 in UTC.
    public var since: String
    /// The number of accesses that were detected since then.
    public var hits: Int
    /// The number of call sites of these accesses.
    public var groups: Int
    /// The number of hits since the last new call site.
    public var runWithoutNewGroup: Int
    /// The number of hits without a new call site that lowers the level.
    public var enoughHitsWithoutNewGroup: Int
    /// The estimated share of accesses from unknown call sites.
    public var unseenShare: Double
    /// The current evidence that accesses have become rarer.
    public var dropEvidence: Double
    /// The evidence that lowers the level.
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

  /// The user of the processes.
  public var uid: Int
  /// The program's name.
  public var name: String
  /// The path of the program.
  public var program: String
  /// The level of the protection.
  public var level: Level
  /// The operator's override.
  public var pin: Pin
  /// Whether an alarm may raise the level.
  public var isAutomaticAllowed: Bool
  /// The current limit of the quarantine in one process.
  public var budgetBytes: Int
  /// The limit of the quarantine in one process at the level `base`.
  public var baseBudgetBytes: Int
  /// The limit of the quarantine in one process at the level `raised`.
  public var raisedBudgetBytes: Int
  /// The time within which crashes of restarted processes count as one.
  public var crashLoopSeconds: Double
  /// The current value of the change detector.
  public var evidence: Double
  /// The detector's value that raises an alarm, which is the minimum mean number of days between two false alarms.
  public var alarmThresholdDays: Double
  /// The usual number of crashes per day.
  public var usualPerDay: Double
  /// The number of crashes that the statistics counted.
  public var countedCrashes: Int
  /// The protected classes.
  public var classes: [Class]
  /// The classes that are never protected.
  public var releasedClasses: [String]
  /// Whether all classes that the program defines are protected, because its crashes named no class.
  public var includesOwnClasses: Bool
  /// The number of attached processes.
  public var processes: Int
  /// The number of processes that have applied the policy.
  public var applied: Int
  /// The reasons why the other processes refused the policy, by class.
  public var refusals: [String: String]
  /// The last days with events, ending with the latest day.
  public var days: [Day]
  /// The progress toward lowering the level, or nil unless the level is raised.
  public var stop: Stop?
  /// The reason of the last change of the level, as text.
  public var lastSwitch: String?
  /// The time of the last change of the level, RFC 3339 in UTC.
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
