public import CrashReport

/// The use-after-free protection of one program of a user: its rules, their source, and the statistics behind them.
public struct DanglingPolicyReport: Codable, Sendable, Equatable {
  /// A protected class.
  public struct Class: Codable, Sendable, Equatable {
    /// The full name.
    public var name: String
    /// The source of the protection.
    public var listedBy: ListedBy
    /// The quarantine's policy for its objects.
    public var mode: IncidentReport.Mode
    /// The capacity of the quarantine for its objects.
    public var limit: Int

    /// Makes one from its parts.
    package init(name: String, listedBy: ListedBy, mode: IncidentReport.Mode, limit: Int) {
      (self.name, self.listedBy, self.mode, self.limit) = (name, listedBy, mode, limit)
    }
  }

  /// The counts of one day, UTC.
  public struct Day: Codable, Sendable, Equatable {
    /// Such as `2026-11-22`.
    public var date: String
    /// Reports with a use-after-free as their cause.
    public var crashes: Int
    /// Those that the statistics counted.
    public var counted: Int
    /// Uses that the quarantine caught.
    public var hits: Int
    /// Processes times hours.
    public var processHours: Double
    /// Crashes by build.
    public var builds: [String: Int]

    /// A day without events.
    public init(date: String) {
      self.date = date
      (crashes, counted, hits, processHours, builds) = (0, 0, 0, 0, [:])
    }

    /// Makes one from its parts.
    package init(date: String, crashes: Int, counted: Int, hits: Int, processHours: Double, builds: [String: Int]) {
      (self.date, self.crashes, self.counted, self.hits, self.processHours) = (
        date, crashes, counted, hits, processHours
      )
      self.builds = builds
    }
  }

  /// While the level is raised: the progress toward lowering it.
  public struct Stop: Codable, Sendable, Equatable {
    /// When it was raised, RFC 3339 in UTC.
    public var since: String
    /// Uses that were caught since then.
    public var hits: Int
    /// Their call sites.
    public var groups: Int
    /// Hits since the last new call site.
    public var runWithoutNewGroup: Int
    /// The number of such hits that ends the level.
    public var enoughHitsWithoutNewGroup: Int
    /// The estimated share of uses from call sites not seen yet.
    public var unseenShare: Double
    /// The evidence that uses became rarer.
    public var dropEvidence: Double
    /// The evidence that ends the level.
    public var dropThreshold: Double
    /// Days since the raise.
    public var days: Double
    /// The limit of days.
    public var atMostDays: Double

    enum CodingKeys: String, CodingKey {
      case since, hits, groups, runWithoutNewGroup, enoughHitsWithoutNewGroup, unseenShare, dropEvidence
      case dropThreshold, days
      case atMostDays = "atMost_days"
    }

    /// Makes one from its parts.
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
  /// Its path.
  public var program: String
  /// The level of the protection.
  public var level: Level
  /// The operator's override.
  public var pin: Pin
  /// Whether an alarm may raise the level.
  public var isAutomaticAllowed: Bool
  /// The current limit of the quarantine in one process.
  public var budgetBytes: Int
  /// The same at the level `base`.
  public var baseBudgetBytes: Int
  /// The same at the level `raised`.
  public var raisedBudgetBytes: Int
  /// Restarted processes that crash within this time count once.
  public var crashLoopSeconds: Double
  /// The detector's value.
  public var evidence: Double
  /// The value that causes an alarm: the days between two false ones, at least.
  public var alarmThresholdDays: Double
  /// The usual crashes per day.
  public var usualPerDay: Double
  /// Crashes that counted.
  public var countedCrashes: Int
  /// Protected classes.
  public var classes: [Class]
  /// Classes that are never protected.
  public var releasedClasses: [String]
  /// Whether all classes that the program defines are protected, because crashes named none.
  public var includesOwnClasses: Bool
  /// Attached processes.
  public var processes: Int
  /// Processes that have applied it.
  public var applied: Int
  /// Refusals of the others, by class.
  public var refusals: [String: String]
  /// The last days with events, the latest last.
  public var days: [Day]
  /// While the level is raised.
  public var stop: Stop?
  /// The last change of the level, as text.
  public var lastSwitch: String?
  /// The time of that change, RFC 3339 in UTC.
  public var lastSwitchTime: String?

  enum CodingKeys: String, CodingKey {
    case uid, name, program, level, pin, isAutomaticAllowed, budgetBytes, baseBudgetBytes, raisedBudgetBytes
    case evidence, countedCrashes, classes, releasedClasses, includesOwnClasses, processes, applied, refusals, days
    case stop, lastSwitch, lastSwitchTime
    case crashLoopSeconds = "crashLoop_s"
    case alarmThresholdDays = "alarmThreshold_days"
    case usualPerDay = "usual_perDay"
  }

  /// Makes one from its parts.
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
