import DanglingStatistics

/// One service: its policy loop, the operator's overrides, and the counts of each day.
///
/// All of it survives a restart of crashd.
struct ServicePolicy: Codable, Sendable {
  /// The operator's options for one listed class.
  struct Wish: Codable, Sendable, Equatable {
    var limit: Int?
    var mode: DanglingMode?
  }

  /// The counts of one day, UTC.
  struct Day: Codable, Sendable, Equatable {
    /// Days since 1970.
    var day: Int
    /// Reports with a use-after-free as their cause.
    var crashes = 0
    /// Those that the statistics counted: a process once, a restart loop once an hour.
    var counted = 0
    /// Use-after-free incidents of the quarantine.
    var hits = 0
    /// Processes times hours.
    var processHours = 0.0
    /// Crashes by build, of at most `buildLimit` builds.
    var builds: [String: Int]? = nil
  }

  static let dayLimit = 90
  static let buildLimit = 16

  /// The program's name.
  var name: String
  var loop: PolicyLoop
  var wishes: [String: Wish] = [:]
  /// Quarantine capacity of each class, by the last split of the budget.
  var limits: [String: Int] = [:]
  /// The operator has set the budgets.
  var hasOperatorsBudget = false
  /// The operator's guard modes; nil: none, or an older crashd wrote it.
  var guards: GuardWords?
  var days: [Day] = []
  /// The time of the last event, in seconds since 1970.
  var lastSeen_s: Double

  init(name: String, rules: ProtectionRules, at time_s: Double) {
    self.name = name
    loop = PolicyLoop(rules: rules)
    lastSeen_s = time_s
  }

  /// Whether an operator has set anything about the quarantine.
  var hasRules: Bool {
    loop.rules.pin != .automatic || !loop.rules.listedClasses.isEmpty || !loop.rules.releasedClasses.isEmpty
      || hasOperatorsBudget
  }

  /// Changes the counts of the day that contains a time.
  mutating func count(at time_s: Double, _ change: (inout Day) -> Void) {
    let day = Int(clamping: Int64(min(max(time_s / 86_400, 0), 1e9)))
    if days.last?.day != day {
      days.append(Day(day: day))
      if days.count > Self.dayLimit { days.removeFirst(days.count - Self.dayLimit) }
    }
    change(&days[days.count - 1])
  }

  /// The classes that crashd protects.
  ///
  /// Those that the statistics listed count only where the operator allows it.
  var protectedClasses: [String] {
    let classes = loop.protection.classes
    let isFree = loop.rules.allowsAutomaticProtection || loop.rules.pin == .on
    return isFree ? classes : classes.filter { loop.rules.listedClasses.contains($0) }
  }

  /// The plan for its processes; nil: none.
  var plan: ControlPlan? {
    guard let guards, !guards.isEmpty else { return danglingPlan }
    var plan = danglingPlan ?? ControlPlan()
    plan.guards = guards
    return plan
  }

  private var danglingPlan: ControlPlan? {
    let protection = loop.protection
    let rules = loop.rules
    let isPinned = rules.pin != .automatic
    let classes = protectedClasses
    guard isPinned || !classes.isEmpty || protection.includesOwnClasses || !rules.releasedClasses.isEmpty
    else { return nil }
    var words: [ControlPlan.Word] = []
    if protection.includesOwnClasses { words.append(ControlPlan.Word(name: nil)) }
    words += classes.map { name in
      let wish = wishes[name]
      return ControlPlan.Word(
        name: name, isOperator: rules.listedClasses.contains(name), policy: wish?.mode ?? .zero,
        limit: wish?.limit ?? limits[name] ?? ControlPlan.standardLimit)
    }
    words += rules.releasedClasses.sorted().map { ControlPlan.Word(name: $0, isRelease: true, isOperator: true) }
    return ControlPlan(
      budgetBytes: protection.budgetBytes, isOperator: isPinned || hasOperatorsBudget, isOff: protection.level == .off,
      words: words)
  }
}
