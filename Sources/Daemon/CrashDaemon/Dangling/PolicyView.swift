import CrashStore
import DanglingStatistics

/// What clients see of a service's policy.
struct PolicyView: Encodable, Sendable {
  struct Class: Encodable, Sendable {
    var name: String
    /// `operator` or `statistics`.
    var listedBy: String
    var mode: String
    var limit: Int
  }

  struct Day: Encodable, Sendable {
    /// Such as `2026-11-22`.
    var date: String
    var crashes: Int
    var counted: Int
    var hits: Int
    var processHours: Double
    var builds: [String: Int]
  }

  struct Stop: Encodable, Sendable {
    var since: String
    var hits: Int
    var groups: Int
    var runWithoutNewGroup: Int
    var enoughHitsWithoutNewGroup: Int
    var unseenShare: Double
    var dropEvidence: Double
    var dropThreshold: Double
    var days: Double
    var atMost_days: Double
  }

  var uid: Int
  var name: String
  var program: String
  var level: String
  var pin: String
  var isAutomaticAllowed: Bool
  var budgetBytes: Int
  var baseBudgetBytes: Int
  var raisedBudgetBytes: Int
  var crashLoop_s: Double
  /// The detector's value, and the one at which it is an alarm: days between false alarms, at least.
  var evidence: Double
  var alarmThreshold_days: Double
  var usual_perDay: Double
  var countedCrashes: Int
  var classes: [Class]
  var releasedClasses: [String]
  var includesOwnClasses: Bool
  /// Attached processes, those that have done what they were told, and what others said, by class.
  var processes: Int
  var obeying: Int
  var refusals: [String: String]
  var days: [Day]
  var stop: Stop?
  var lastSwitch: String?
  var lastSwitchTime: String?
}

extension PolicyKeeper {
  func views(_ keys: [ServiceKey]) -> [PolicyView] { keys.compactMap(view) }

  private func view(_ key: ServiceKey) -> PolicyView? {
    guard let service = services[key] else { return nil }
    let (policy, loop) = (service.policy, service.policy.loop)
    let (rules, protection) = (loop.rules, loop.protection)
    let outcomes = service.processes.values.map(\.outcome.now).filter { !$0.isOver }
    let classes = policy.protectedClasses.map { name in
      let word = policy.plan?.words.first { $0.name == name }
      return PolicyView.Class(
        name: name, listedBy: rules.listedClasses.contains(name) ? "operator" : "statistics",
        mode: word?.policy.rawValue ?? "zero", limit: word?.limit ?? 0)
    }
    return PolicyView(
      uid: Int(key.uid), name: policy.name, program: key.program, level: protection.level.rawValue,
      pin: rules.pin.rawValue, isAutomaticAllowed: rules.allowsAutomaticProtection,
      budgetBytes: Int(clamping: protection.budgetBytes), baseBudgetBytes: Int(clamping: rules.baseBudgetBytes),
      raisedBudgetBytes: Int(clamping: rules.raisedBudgetBytes), crashLoop_s: rules.crashLoop_s,
      evidence: loop.detector.value, alarmThreshold_days: rules.alarmThreshold_days,
      usual_perDay: loop.baseline.rate_perDay, countedCrashes: loop.countedCrashes, classes: classes,
      releasedClasses: protection.releasedClasses, includesOwnClasses: protection.includesOwnClasses,
      processes: outcomes.count,
      obeying: outcomes.count { $0.obeys(board.plan(of: key), about: .deadObjects) },
      refusals: outcomes.reduce(into: [:]) { all, outcome in all.merge(outcome.refused) { first, _ in first } },
      days: policy.days.map(Self.view), stop: loop.stop.map { view($0, rules) }, lastSwitch: loop.lastSwitch?.text,
      lastSwitchTime: loop.lastSwitch.map { DanglingDecision($0).time })
  }

  private func view(_ stop: StopRule, _ rules: ProtectionRules) -> PolicyView.Stop {
    PolicyView.Stop(
      since: Moment(seconds: stop.start_s).description, hits: stop.coverage.hits, groups: stop.coverage.groups,
      runWithoutNewGroup: stop.coverage.runSinceNewGroup, enoughHitsWithoutNewGroup: rules.enoughHitsWithoutNewGroup,
      unseenShare: stop.coverage.unseenShare, dropEvidence: stop.drop.value, dropThreshold: rules.dropThreshold,
      days: max(0, now_s - stop.start_s) / 86_400, atMost_days: rules.raisedAtMost_days)
  }

  private static func view(_ day: ServicePolicy.Day) -> PolicyView.Day {
    PolicyView.Day(
      date: String(Moment(seconds: Double(day.day) * 86_400).description.prefix(10)), crashes: day.crashes,
      counted: day.counted, hits: day.hits, processHours: day.processHours, builds: day.builds ?? [:])
  }

  /// The figures of the classes of some services.
  func summaries(_ keys: [ServiceKey]) -> [(service: ServiceKey, name: String, summary: ClassSummary)] {
    keys.flatMap { key in
      (services[key]?.book.all ?? []).map { (key, services[key]?.policy.name ?? "", ClassSummary($0)) }
    }
  }
}
