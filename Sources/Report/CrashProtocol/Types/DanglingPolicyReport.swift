public import CrashReport

/// The protection of one program of a user against use-after-free: its rules, who set them, and the statistics behind them.
public struct DanglingPolicyReport: Codable, Sendable, Equatable {
  /// A class that is protected.
  public struct Class: Codable, Sendable, Equatable {
    /// The full name.
    public var name: String
    /// Why it is.
    public var listedBy: ListedBy
    /// What becomes of its objects.
    public var mode: IncidentReport.Mode
    /// How many of them are kept.
    public var limit: Int

    /// Makes one from its parts.
    package init(name: String, listedBy: ListedBy, mode: IncidentReport.Mode, limit: Int) {
      (self.name, self.listedBy, self.mode, self.limit) = (name, listedBy, mode, limit)
    }
  }

  /// What came on one day, UTC.
  public struct Day: Codable, Sendable, Equatable {
    /// Such as `2026-11-22`.
    public var date: String
    /// Reports with a dangling cause.
    public var crashes: Int
    /// Those of them that counted.
    public var counted: Int
    /// Uses that the quarantine caught.
    public var hits: Int
    /// Processes times hours.
    public var processHours: Double
    /// Crashes by build.
    public var builds: [String: Int]

    /// A day on which nothing came.
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

  /// While the level is raised: how far it is from being lowered.
  public struct Stop: Codable, Sendable, Equatable {
    /// When it was raised, RFC 3339 in UTC.
    public var since: String
    /// Uses that were caught since.
    public var hits: Int
    /// Places that they came from.
    public var groups: Int
    /// Hits since the last new place.
    public var runWithoutNewGroup: Int
    /// So many of them end the level.
    public var enoughHitsWithoutNewGroup: Int
    /// The estimated share of uses from places not seen yet.
    public var unseenShare: Double
    /// The evidence that uses became rarer.
    public var dropEvidence: Double
    /// So much of it ends the level.
    public var dropThreshold: Double
    /// How long it lasts.
    public var days: Double
    /// How long it may.
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

  /// Whose processes.
  public var uid: Int
  /// The program's name.
  public var name: String
  /// Its path.
  public var program: String
  /// How much is protected.
  public var level: Level
  /// What the operator says of it.
  public var pin: Pin
  /// Whether an alarm may raise the level.
  public var isAutomaticAllowed: Bool
  /// What the quarantine of one process may hold now.
  public var budgetBytes: Int
  /// The same at the level `base`.
  public var baseBudgetBytes: Int
  /// The same at the level `raised`.
  public var raisedBudgetBytes: Int
  /// Restarted processes that crash within this time count once.
  public var crashLoopSeconds: Double
  /// The detector's value.
  public var evidence: Double
  /// The value that is an alarm: the days between two false ones, at least.
  public var alarmThresholdDays: Double
  /// Crashes a day that are taken for usual.
  public var usualPerDay: Double
  /// Crashes that counted.
  public var countedCrashes: Int
  /// What is protected.
  public var classes: [Class]
  /// What never is.
  public var releasedClasses: [String]
  /// Whether all of the program's own classes are, because crashes did not name one.
  public var includesOwnClasses: Bool
  /// Attached processes.
  public var processes: Int
  /// Those that have applied it.
  public var obeying: Int
  /// What the others said, by class.
  public var refusals: [String: String]
  /// The last days on which something came, the latest last.
  public var days: [Day]
  /// While the level is raised.
  public var stop: Stop?
  /// The last change of the level, in words.
  public var lastSwitch: String?
  /// When that was, RFC 3339 in UTC.
  public var lastSwitchTime: String?

  enum CodingKeys: String, CodingKey {
    case uid, name, program, level, pin, isAutomaticAllowed, budgetBytes, baseBudgetBytes, raisedBudgetBytes
    case evidence, countedCrashes, classes, releasedClasses, includesOwnClasses, processes, obeying, refusals, days
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
    includesOwnClasses: Bool, processes: Int, obeying: Int, refusals: [String: String], days: [Day], stop: Stop? = nil,
    lastSwitch: String? = nil, lastSwitchTime: String? = nil
  ) {
    (self.uid, self.name, self.program, self.level, self.pin) = (uid, name, program, level, pin)
    (self.isAutomaticAllowed, self.budgetBytes, self.baseBudgetBytes, self.raisedBudgetBytes, self.crashLoopSeconds) = (
      isAutomaticAllowed, budgetBytes, baseBudgetBytes, raisedBudgetBytes, crashLoopSeconds
    )
    (self.evidence, self.alarmThresholdDays, self.usualPerDay, self.countedCrashes, self.classes) = (
      evidence, alarmThresholdDays, usualPerDay, countedCrashes, classes
    )
    (self.releasedClasses, self.includesOwnClasses, self.processes, self.obeying, self.refusals) = (
      releasedClasses, includesOwnClasses, processes, obeying, refusals
    )
    (self.days, self.stop, self.lastSwitch, self.lastSwitchTime) = (days, stop, lastSwitch, lastSwitchTime)
  }
}
