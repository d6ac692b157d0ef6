/// Decides how much a service is protected.
///
/// The loop is a state machine. It gets all times and events as inputs, and uses no clock, files or processes itself.
///
/// Listed classes are protected at the levels `base` and `raised`. An alarm raises the level, and adds the classes that
/// the crashes named to the list. There are two causes of an alarm: use-after-free crashes are more frequent than
/// usual, or a new build crashes more often than the old builds. A hit (a detected use-after-free access) also adds its
/// class to the list. The stop rule (`StopRule`) ends the raised level. A class that has had no crash and no hit for
/// `suspectMemory_days` is removed from the list. The operator's choice (`Pin`) takes precedence over alarms and the
/// stop rule.
///
/// The loop returns each change as an event with its reason. A `PolicyLoop` value contains the whole state of the loop.
/// Therefore, a loop that is decoded after a restart of crashd continues as if there had been no restart.
///
///     var loop = PolicyLoop(rules: ProtectionRules(allowsAutomaticProtection: true))
///     let crash = DanglingCrash(build: "7f3a", incarnation: "boot/4711/99", instance: "host/app.service")
///     for event in loop.receive(.crash(crash), at: now) { print(event.text) }
///     print(loop.protection.classes)
public struct PolicyLoop: Sendable, Hashable, Codable {
  /// The maximum time between two inputs that counts as observed, in days.
  ///
  /// If more time passes between two inputs, crashd probably did not run for a part of the time.
  static let longestStretch_days = 1.0
  /// The minimum running time that the loop assumes for a process before its crash, in days.
  static let shortestLife_days = 1.0 / 1_440
  /// The minimum time between two alarms that only give advice, because the rules forbid a change.
  static let adviceAtMostEvery_s = 7 * 86_400.0
  /// The maximum number of builds that the loop remembers.
  ///
  /// The loop forgets the builds that appeared first. A forgotten build that still runs, or runs later, is treated as a
  /// new build.
  static let buildLimit = 64

  /// The operator's rules for this service.
  public private(set) var rules: ProtectionRules
  /// The protection level that the statistics chose.
  ///
  /// `protection` contains the level that is in effect, which also depends on the rules.
  public private(set) var automaticLevel = ProtectionLevel.base
  /// Detects that the crash rate is higher than the usual rate.
  public private(set) var detector = ShiryaevRoberts()
  /// The usual crash rate of the service.
  public private(set) var baseline = CrashBaseline()
  /// Compares the crashes of the newest build and of the older builds that still run.
  public private(set) var comparison = BuildComparison()
  /// The rule that ends the raised level; nil if the level is not raised.
  public private(set) var stop: StopRule?
  /// The last event that changed the level.
  public private(set) var lastSwitch: PolicyEvent?
  /// The number of crashes that the loop counted.
  public private(set) var countedCrashes = 0

  private var counter = IncarnationCounter()
  private var suspects = Suspects()
  private var includesOwnClasses = false
  private var loads: [String: Double] = [:]
  /// The builds, in the order in which they first appeared.
  private var builds: [String] = []
  private var lastTime_s: Double?
  private var lastAdvice_s: Double?

  /// Creates a loop that has received no inputs.
  public init(rules: ProtectionRules = ProtectionRules()) { self.rules = rules }

  /// The protection of the service's processes that results from the current state.
  public var protection: Protection {
    let level = effectiveLevel
    let classes =
      level == .off ? [] : rules.listedClasses.union(suspects.classes.keys).subtracting(rules.releasedClasses).sorted()
    let budgetBytes: UInt64 =
      switch level {
      case .off: 0
      case .base: rules.baseBudgetBytes
      case .raised: rules.raisedBudgetBytes
      }
    return Protection(
      level: level, budgetBytes: budgetBytes, classes: classes,
      releasedClasses: rules.releasedClasses.sorted(), includesOwnClasses: level == .raised && includesOwnClasses)
  }

  /// Handles an input, and returns the changes that result from the input.
  ///
  /// The caller must pass inputs in the order of their times. If the time of an input is before the time of the
  /// previous input, the loop uses the time of the previous input.
  public mutating func receive(_ input: PolicyInput, at time_s: Double) -> [PolicyEvent] {
    let now_s = max(time_s.isFinite ? time_s : 0, lastTime_s ?? 0)
    let elapsed_days = min((now_s - (lastTime_s ?? now_s)) / 86_400, Self.longestStretch_days)
    lastTime_s = now_s
    // While no process of the service runs, none of them can crash. This time does not count for the detectors.
    var running_days = loads.isEmpty ? 0 : elapsed_days

    var events: [PolicyEvent] = []
    switch input {
    case .load(let loads):
      pass(days: running_days, crashes: 0)
      take(loads: loads)
    case .crash(let crash):
      let counts = counter.counts(
        incarnation: crash.incarnation, instance: crash.instance, at: now_s, crashLoop_s: rules.crashLoop_s)
      if counts { running_days = max(running_days, Self.shortestLife_days) }
      pass(days: running_days, crashes: counts ? 1 : 0)
      if counts { events += take(crash: crash, at: now_s) }
    case .hit(let className, let group):
      pass(days: running_days, crashes: 0)
      suspects.list([className], at: now_s)
      stop?.observe(group: group)
    case .rules(let rules):
      pass(days: running_days, crashes: 0)
      events += take(rules: rules, at: now_s)
    }
    return events + lower(at: now_s) + release(at: now_s)
  }

  private var effectiveLevel: ProtectionLevel {
    switch rules.pin {
    case .on: .raised
    case .off: .off
    case .automatic: automaticLevel
    }
  }

  /// Adds a period of time and the crashes that occurred at its end: to the stop rule if the level is raised, and
  /// otherwise to the detector.
  private mutating func pass(days: Double, crashes: Double) {
    let load = loads.values.reduce(0, +)
    if effectiveLevel == .raised {
      stop?.observe(days: days)
      if crashes > 0 { stop?.observeCrash() }
      if stop != nil { baseline.observeWaiting(days: days, load: load, events: crashes) }
    } else {
      detector.observe(days: days, expected: baseline.expected(days: days, load: load), events: crashes)
      baseline.observe(days: days, load: load, events: crashes)
    }
  }

  private mutating func take(loads new: [String: Double]) {
    loads = new.filter { $0.value.amount > 0 }
    // If several builds appear in the same input, their order in time is unknown. In this case, use the order of the
    // builds' names.
    for build in loads.keys.sorted() where !builds.contains(build) {
      builds.append(build)
      comparison = BuildComparison()
    }
    if builds.count > Self.buildLimit { builds.removeFirst(builds.count - Self.buildLimit) }
  }

  private mutating func take(crash: DanglingCrash, at time_s: Double) -> [PolicyEvent] {
    countedCrashes += 1
    suspects.observeCrash(className: crash.className, at: time_s)
    guard effectiveLevel != .raised else { return [] }
    if detector.value >= rules.alarmThreshold_days {
      return alarm(
        .rise(
          value: detector.value, threshold_days: rules.alarmThreshold_days, expected_perDay: baseline.rate_perDay,
          recentCrashes: suspects.recentCrashes), at: time_s)
    }
    if let newest = builds.last, let newLoad = loads[newest] {
      comparison.observe(isNewBuild: crash.build == newest, newShare: newLoad / loads.values.reduce(0, +))
      if comparison.value >= rules.buildThreshold {
        return alarm(
          .worseBuild(
            build: newest, value: comparison.value, newCrashes: comparison.newEvents,
            oldCrashes: comparison.oldEvents), at: time_s)
      }
    }
    return []
  }

  /// Raises the level if the rules allow an automatic rise; otherwise, returns an event that only gives advice.
  ///
  /// In both cases, the detectors start again without observations.
  private mutating func alarm(_ reason: PolicyEvent.Reason, at time_s: Double) -> [PolicyEvent] {
    let rise = detector.estimatedRise
    let before = effectiveLevel
    detector.reset()
    comparison = BuildComparison()
    guard rules.allowsAutomaticProtection, rules.pin == .automatic else {
      // The level does not change, so treat the current rate as the usual rate. Give the next advice only after a
      // pause.
      baseline.learnRecent()
      if let lastAdvice_s, time_s - lastAdvice_s < Self.adviceAtMostEvery_s { return [] }
      lastAdvice_s = time_s
      return [
        PolicyEvent(time_s: time_s, action: .advised, from: before, to: before, reason: reason, classes: [])
      ]
    }
    automaticLevel = .raised
    stop = StopRule(at: time_s, usualRate_perDay: baseline.rate_perDay, rise: rise)
    includesOwnClasses = suspects.hasUnknownClass
    let named = suspects.recentClasses.subtracting(rules.releasedClasses)
    suspects.list(named, at: time_s)
    return [switched(from: before, because: reason, classes: named.sorted(), at: time_s)]
  }

  private mutating func take(rules new: ProtectionRules, at time_s: Double) -> [PolicyEvent] {
    let before = effectiveLevel
    rules = new
    if !new.allowsAutomaticProtection, automaticLevel == .raised { endRaise() }
    let after = effectiveLevel
    guard after != before else { return [] }
    // Remove the observations: the crashes at the previous level are no evidence for the new level.
    detector.reset()
    baseline.forgetRecent()
    return [switched(from: before, because: .operatorsRules(pin: new.pin), classes: [], at: time_s)]
  }

  private mutating func lower(at time_s: Double) -> [PolicyEvent] {
    guard rules.pin == .automatic, let reason = stop?.reason(at: time_s, rules: rules) else { return [] }
    // If the raised protection caught no access until its time limit, the alarm was false, and the crashes of the
    // waiting days belong to the usual rate.
    if case .timeOver = reason, stop?.coverage.hits == 0 { baseline.learnRecent() }
    endRaise()
    return [switched(from: .raised, because: reason, classes: [], at: time_s)]
  }

  private mutating func endRaise() {
    automaticLevel = .base
    stop = nil
    includesOwnClasses = false
    detector.reset()
    baseline.forgetRecent()
  }

  private mutating func release(at time_s: Double) -> [PolicyEvent] {
    let level = effectiveLevel
    return suspects.release(silentFor: rules.suspectMemory_days, at: time_s).map {
      PolicyEvent(
        time_s: time_s, action: .released, from: level, to: level,
        reason: .notSeen(className: $0, days: rules.suspectMemory_days), classes: [])
    }
  }

  private mutating func switched(
    from before: ProtectionLevel, because reason: PolicyEvent.Reason, classes: [String], at time_s: Double
  ) -> PolicyEvent {
    let event = PolicyEvent(
      time_s: time_s, action: .switched, from: before, to: effectiveLevel, reason: reason, classes: classes)
    lastSwitch = event
    return event
  }
}
