import DanglingStatistics

/// The policy of one service: the state machine that decides about protection (`loop`), the overrides of the operator,
/// and the counts of each day.
///
/// crashd stores this state, so the state remains after a restart of crashd.
struct ServicePolicy: Codable, Sendable {
  /// The options that an operator set for one class that the operator protects.
  struct Wish: Codable, Sendable, Equatable {
    var limit: Int?
    var mode: DanglingMode?
  }

  /// The counts of one UTC day.
  struct Day: Codable, Sendable, Equatable {
    /// The number of days between 1970-01-01 and this day.
    var day: Int
    /// The number of crash reports whose cause is a use-after-free.
    var crashes = 0
    /// The number of crashes that the statistics counted.
    ///
    /// The statistics count one crash per process, and only one crash per hour in a restart loop.
    var counted = 0
    /// The number of use-after-free incidents of the quarantine.
    var hits = 0
    /// The total number of hours for which processes were attached.
    var processHours = 0.0
    /// The number of crashes for each build, for at most `buildLimit` builds.
    var builds: [String: Int]? = nil
  }

  static let dayLimit = 90
  static let buildLimit = 16

  /// The name of the program.
  var name: String
  var loop: PolicyLoop
  var wishes: [String: Wish] = [:]
  /// The number of quarantine slots of each class, as the last division of the memory budget set it.
  var limits: [String: Int] = [:]
  /// Whether an operator has set the memory budget of the quarantine.
  var hasOperatorsBudget = false
  /// The guard modes that the operator set; nil if there are none, or if an older crashd wrote this state.
  var guards: GuardWords?
  var days: [Day] = []
  /// The time of the last event of the service, in seconds since 1970.
  var lastSeen_s: Double

  init(name: String, rules: ProtectionRules, at time_s: Double) {
    self.name = name
    loop = PolicyLoop(rules: rules)
    lastSeen_s = time_s
  }

  /// Whether an operator has set an override for the quarantine.
  var hasRules: Bool {
    loop.rules.pin != .automatic || !loop.rules.listedClasses.isEmpty || !loop.rules.releasedClasses.isEmpty
      || hasOperatorsBudget
  }

  /// Changes the counts of the day that contains the given time.
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
  /// The classes that the statistics selected are included only if automatic protection is allowed.
  var protectedClasses: [String] {
    let classes = loop.protection.classes
    let isFree = loop.rules.allowsAutomaticProtection || loop.rules.pin == .on
    return isFree ? classes : classes.filter { loop.rules.listedClasses.contains($0) }
  }

  /// The plan for the processes of the service; nil if the service has no plan.
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
