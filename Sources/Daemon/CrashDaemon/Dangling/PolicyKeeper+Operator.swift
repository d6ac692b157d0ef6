import CrashProtocol
import CrashReport
import CrashStore
import DanglingStatistics
import Logging

/// The changes that an operator makes to the rules of a service; a field that is nil leaves its rule unchanged.
struct RuleChange: Sendable, Equatable {
  var pin: Pin?
  var allowsAutomaticProtection: Bool?
  var baseBudgetBytes: UInt64?
  var raisedBudgetBytes: UInt64?
  var crashLoop_s: Double?
  var alarmThreshold_days: Double?

  /// The description of the change in the stored decision.
  var text: String {
    [
      pin.map { "pin \($0.rawValue)" },
      allowsAutomaticProtection.map { $0 ? "automatic protection allowed" : "automatic protection forbidden" },
      baseBudgetBytes.map { "base budget \($0) bytes" }, raisedBudgetBytes.map { "raised budget \($0) bytes" },
      crashLoop_s.map { $0 == 0 ? "each restart counts" : "crashes within \(Int($0)) s count once" },
      alarmThreshold_days.map { "at most one false alarm in \(Int($0)) days" },
    ].compactMap { $0 }.joined(separator: ", ")
  }
}

// Handles the overrides of operators, which take precedence over the statistics and over the program's own settings.
extension PolicyKeeper {
  /// Finds the visible services that match a name.
  ///
  /// A service matches if its name, or the name of its executable, contains the text `name`, or if the path of its
  /// program equals `name`. If `name` is nil, all visible services match. The name of a process can differ from the
  /// name of its executable. The name of a service is the name of the process that attached last.
  func find(_ name: String?, _ visibility: Visibility) -> [ServiceKey] {
    services.keys.sorted().filter { key in
      guard visibility.includes(key) else { return false }
      guard let name else { return true }
      let file = key.program.split(separator: "/").last
      return services[key]?.policy.name.contains(name) == true || file?.contains(name) == true || key.program == name
    }
  }

  /// Changes the operator's rules of the given services.
  func change(_ keys: [ServiceKey], _ change: RuleChange, by uid: UInt32? = nil) {
    for key in keys {
      guard var rules = services[key]?.policy.loop.rules else { continue }
      if let pin = change.pin { rules.pin = pin }
      if let allows = change.allowsAutomaticProtection { rules.allowsAutomaticProtection = allows }
      if let bytes = change.baseBudgetBytes { rules.baseBudgetBytes = bytes }
      if let bytes = change.raisedBudgetBytes { rules.raisedBudgetBytes = bytes }
      if let seconds = change.crashLoop_s { rules.crashLoop_s = seconds }
      if let days = change.alarmThreshold_days { rules.alarmThreshold_days = days }
      if change.baseBudgetBytes != nil || change.raisedBudgetBytes != nil {
        services[key]?.policy.hasOperatorsBudget = true
      }
      decide(key, change.text, rules, classes: [], by: uid)
    }
  }

  /// Adds a class to the list of protected classes.
  func protect(_ keys: [ServiceKey], _ className: String, _ wish: ServicePolicy.Wish, by uid: UInt32? = nil) {
    for key in keys {
      guard var rules = services[key]?.policy.loop.rules else { continue }
      rules.listedClasses.insert(className)
      rules.releasedClasses.remove(className)
      services[key]?.policy.wishes[className] = wish == ServicePolicy.Wish() ? nil : wish
      let details = [wish.mode.map { "policy \($0.rawValue)" }, wish.limit.map { "limit \($0)" }].compactMap { $0 }
      let text = (["the operator protects \(className)"] + details).joined(separator: ", ")
      decide(key, text, rules, classes: [className], by: uid)
    }
  }

  /// Excludes a class from protection, until an operator protects the class or removes the exclusion.
  func release(_ keys: [ServiceKey], _ className: String, by uid: UInt32? = nil) {
    for key in keys {
      guard var rules = services[key]?.policy.loop.rules else { continue }
      rules.listedClasses.remove(className)
      rules.releasedClasses.insert(className)
      services[key]?.policy.wishes[className] = nil
      decide(key, "the operator releases \(className)", rules, classes: [], by: uid)
    }
  }

  /// Removes the operator's override for a class from the given services.
  ///
  /// The program's request and crashd's statistics then decide again whether the class is protected.
  func reset(_ keys: [ServiceKey], _ className: String, by uid: UInt32? = nil) {
    for key in keys {
      guard let now = current(key, of: className), now != Override() else { continue }
      put(Override(), key, className, "the operator resets \(className)", by: uid)
    }
  }

  /// The override of an operator for one class in one service.
  struct Override: Equatable {
    var isListed = false
    var isReleased = false
    var wish: ServicePolicy.Wish?
  }

  func overrides(_ keys: [ServiceKey], of className: String) -> [ServiceKey: Override] {
    keys.reduce(into: [:]) { $0[$1] = current($1, of: className) }
  }

  private func current(_ key: ServiceKey, of className: String) -> Override? {
    guard let policy = services[key]?.policy else { return nil }
    let rules = policy.loop.rules
    return Override(
      isListed: rules.listedClasses.contains(className), isReleased: rules.releasedClasses.contains(className),
      wish: policy.wishes[className])
  }

  /// Restores the overrides that existed before a change, for a class that no process has.
  func restore(_ overrides: [ServiceKey: Override], of className: String) {
    for (key, before) in overrides.sorted(by: { $0.key < $1.key }) {
      put(before, key, className, "withdrawn: no process has the class \(className)", by: nil)
    }
  }

  private func put(_ override: Override, _ key: ServiceKey, _ className: String, _ text: String, by uid: UInt32?) {
    guard var rules = services[key]?.policy.loop.rules else { return }
    rules.listedClasses.remove(className)
    rules.releasedClasses.remove(className)
    if override.isListed { rules.listedClasses.insert(className) }
    if override.isReleased { rules.releasedClasses.insert(className) }
    services[key]?.policy.wishes[className] = override.wish
    decide(key, text, rules, classes: [], by: uid)
  }

  /// Returns the services whose attached processes have all answered that they do not have the given class.
  func services(_ keys: [ServiceKey], denying className: String) -> Set<ServiceKey> {
    Set(
      keys.filter { key in
        let outcomes = attached(key)
        return !outcomes.isEmpty && outcomes.allSatisfy { $0.refused[className] == ControlAnswer.noSuchClass }
      })
  }

  /// Whether at least one of the services has an attached process.
  func hasProcesses(_ keys: [ServiceKey]) -> Bool { keys.contains { !attached($0).isEmpty } }

  private func attached(_ key: ServiceKey) -> [ControlOutcome.State] {
    (services[key]?.processes.values.map(\.outcome.now) ?? []).filter { !$0.isOver }
  }

  /// Waits until the attached processes of the services have answered the messages of their plans, but not longer than
  /// `timeout_ms`.
  /// - Returns: The number of attached processes, and the number of those that have applied the part of their plan that
  ///   `subject` selects: the protection of classes or the modes of guards.
  func settle(
    _ keys: [ServiceKey], about subject: ControlOutcome.Subject, timeout_ms: Int
  ) async -> (processes: Int, applied: Int) {
    let outcomes = keys.flatMap { key in
      (services[key]?.processes.values.map { ($0.outcome, board.plan(of: key)) } ?? [])
    }.filter { !$0.0.now.isOver }
    // Wait for one process after another, with one deadline for all. For a process that has already answered, the wait
    // ends at once.
    let deadline_ns = Moment.monotonic_ns() + UInt64(timeout_ms) * 1_000_000
    for (outcome, plan) in outcomes {
      let now_ns = Moment.monotonic_ns()
      await outcome.reached(plan, timeout_ms: now_ns < deadline_ns ? Int((deadline_ns - now_ns) / 1_000_000) : 0)
    }
    return (
      outcomes.count,
      outcomes.count { outcome, plan in outcome.now.obeys(plan, about: subject) }
    )
  }

  /// Whether the plan of the service has room for an override of the given class.
  func hasRoom(_ key: ServiceKey, for className: String) -> Bool {
    guard let rules = services[key]?.policy.loop.rules else { return false }
    let spoken = rules.listedClasses.union(rules.releasedClasses)
    return spoken.contains(className) || spoken.count < ControlPlan.wordLimit / 2
  }

  private func decide(
    _ key: ServiceKey, _ text: String, _ rules: ProtectionRules, classes: [String], by uid: UInt32?
  ) {
    guard services[key] != nil else { return }
    note(key, text, classes: classes, by: uid)
    receive(.rules(rules), key)
    save(key)
  }

  /// Stores the service together with the operator's decision.
  ///
  /// `uid` is the uid of the operator.
  func note(_ key: ServiceKey, _ text: String, classes: [String] = [], by uid: UInt32? = nil) {
    guard let service = services[key] else { return }
    let text = text + (uid.map { " (uid \($0))" } ?? "")
    let level = service.policy.loop.protection.level
    save(key, [DanglingDecision(byOperator: text, level: level, classes: classes, at: now_s)])
    logger.notice("'\(service.policy.name)' (uid \(key.uid)): \(CleanText.line(text))")
  }
}
