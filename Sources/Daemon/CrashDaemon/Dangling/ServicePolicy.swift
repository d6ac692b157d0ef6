import DanglingStatistics

/// The policy of one service: its policy loop, the operator's overrides, and the counts of each day.
///
/// All of this state is stored, and survives a restart of crashd.
struct ServicePolicy: Codable, Sendable {
  /// The operator's options for one listed class.
  struct Wish: Codable, Sendable, Equatable {
    var limit: Int?
    var mode: DanglingMode?
  }

  /// The counts of one day in UTC.
  struct Day: Codable, Sendable, Equatable {
    /// The day, as the number of days since 1970.
    var day: Int
    /// The reports with use-after-free as their cause.
    var crashes = 0
    /// The crashes that the statistics counted: each process once, and a restart loop once an hour.
    var counted = 0
    /// The use-after-free incidents of the quarantine.
    var hits = 0
    /// The sum of the hours that all processes were attached.
    var processHours = 0.0
    /// The crashes by build, for at most `buildLimit` builds.
    var builds: [String: Int]? = nil
  }

  static let dayLimit = 90
  static let buildLimit = 16

  /// The name of the program.
  var name: String
  var loop: PolicyLoop
  var wishes: [String: Wish] = [:]
  /// The quarantine slots of each class, from the last split of the budget.
  var limits: [String: Int] = [:]
  /// Whether the operator has set the budgets.
  var hasOperatorsBudget = false
  /// The operator's guard modes; nil if there are none, or if an older crashd wrote this state.
  var guards: GuardWords?
  var days: [Day] = []
  /// The time of the last event, in seconds since 1970.
  var lastSeen_s: Double

  init(name: String, rules: ProtectionRules, at time_s: Double) {
    self.name = name
    loop = PolicyLoop(rules: rules)
    lastSeen_s = time_s
  }

  /// Whether an operator has set a rule of the quarantine.
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
  /// Classes that the statistics selected are included only if the operator allows automatic protection.
  var protectedClasses: [String] {
    let classes = loop.protection.classes
    let isFree = loop.rules.allowsAutomaticProtection || loop.rules.pin == .on
    return isFree ? classes : classes.filter { loop.rules.listedClasses.contains($0) }
  }

  /// The plan for the processes of the service; nil if it has none.
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
