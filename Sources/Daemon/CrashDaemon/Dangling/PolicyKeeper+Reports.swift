import CrashProtocol
import CrashReport
import CrashStore
import DanglingStatistics

// Builds the descriptions of the services' policies that clients receive.
extension PolicyKeeper {
  func reports(_ keys: [ServiceKey]) -> [DanglingPolicyReport] { keys.compactMap(report) }

  private func report(_ key: ServiceKey) -> DanglingPolicyReport? {
    guard let service = services[key] else { return nil }
    let (policy, loop) = (service.policy, service.policy.loop)
    let (rules, protection) = (loop.rules, loop.protection)
    let outcomes = service.processes.values.map(\.outcome.now).filter { !$0.isOver }
    let classes = policy.protectedClasses.map { name in
      let word = policy.plan?.words.first { $0.name == name }
      return DanglingPolicyReport.Class(
        name: name, listedBy: rules.listedClasses.contains(name) ? .byOperator : .statistics,
        mode: word.map { .init($0.policy.rawValue) } ?? .zero, limit: word?.limit ?? 0)
    }
    return DanglingPolicyReport(
      uid: Int(key.uid), name: policy.name, program: key.program, level: .init(protection.level.rawValue),
      pin: .init(rules.pin.rawValue), isAutomaticAllowed: rules.allowsAutomaticProtection,
      budgetBytes: Int(clamping: protection.budgetBytes), baseBudgetBytes: Int(clamping: rules.baseBudgetBytes),
      raisedBudgetBytes: Int(clamping: rules.raisedBudgetBytes), crashLoopSeconds: rules.crashLoop_s,
      evidence: loop.detector.value, alarmThresholdDays: rules.alarmThreshold_days,
      usualPerDay: loop.baseline.rate_perDay, countedCrashes: loop.countedCrashes, classes: classes,
      releasedClasses: protection.releasedClasses, includesOwnClasses: protection.includesOwnClasses,
      processes: outcomes.count,
      applied: outcomes.count { $0.obeys(board.plan(of: key), about: .protection) },
      refusals: outcomes.reduce(into: [:]) { all, outcome in all.merge(outcome.refused) { first, _ in first } },
      days: policy.days.map(Self.day), stop: loop.stop.map { Self.stop($0, rules, at: now_s) },
      lastSwitch: loop.lastSwitch?.text,
      lastSwitchTime: loop.lastSwitch.map { DanglingDecision($0).time })
  }

  private static func stop(_ stop: StopRule, _ rules: ProtectionRules, at now_s: Double) -> DanglingPolicyReport.Stop {
    DanglingPolicyReport.Stop(
      since: Moment(seconds: stop.start_s).description, hits: stop.coverage.hits, groups: stop.coverage.groups,
      runWithoutNewGroup: stop.coverage.runSinceNewGroup, enoughHitsWithoutNewGroup: rules.enoughHitsWithoutNewGroup,
      unseenShare: stop.coverage.unseenShare, dropEvidence: stop.drop.value, dropThreshold: rules.dropThreshold,
      days: max(0, now_s - stop.start_s) / 86_400, atMostDays: rules.raisedAtMost_days)
  }

  private static func day(_ day: ServicePolicy.Day) -> DanglingPolicyReport.Day {
    DanglingPolicyReport.Day(
      date: String(Moment(seconds: Double(day.day) * 86_400).description.prefix(10)), crashes: day.crashes,
      counted: day.counted, hits: day.hits, processHours: day.processHours, builds: day.builds ?? [:])
  }

  /// Returns the statistics of all classes of the given services.
  func summaries(_ keys: [ServiceKey]) -> [(service: ServiceKey, name: String, summary: ClassSummary)] {
    keys.flatMap { key in
      (services[key]?.book.all ?? []).map { (key, services[key]?.policy.name ?? "", ClassSummary($0)) }
    }
  }
}
