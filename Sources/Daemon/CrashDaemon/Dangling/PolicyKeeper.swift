import CrashProtocol
import CrashReport
import CrashRing
import CrashStore
import DanglingStatistics
import FoundationEssentials
import Logging

/// Decides which classes of each service are protected, that is, whose deallocated objects go into the quarantine.
///
/// The policy keeper adds crashes and the counters of processes to the statistics, and stores the statistics. It passes
/// each decision, as a plan for the processes of the service, to the `ProtectionBoard`. A process that crashes
/// repeatedly or writes false counters into its ring affects only the services of its own user.
actor PolicyKeeper {
  struct Configuration: Sendable {
    /// Whether an alarm of the statistics is allowed to protect classes of a service without an override of the
    /// operator.
    var allowsAutomaticProtection = false
    var limits = Limits()
  }

  /// The state of a service that crashd holds in memory.
  struct Service {
    var policy: ServicePolicy
    var book = ClassBook()
    /// The attached processes, with their builds and with the class counters that crashd last read.
    private(set) var processes: [UInt64: Attached] = [:]
    /// The number of attached processes of each build.
    private(set) var loads: [String: Double] = [:]
    /// Whether the service has changed since crashd last stored it.
    var isDirty = false
    /// The time up to which the running hours of the processes are counted, in seconds since 1970.
    var counted_s: Double
    /// The time when the memory budget was last divided among the classes, in seconds since 1970; nil if this has not
    /// happened.
    var split_s: Double?
    /// The ring IDs of the last processes whose crashes were counted.
    var crashed: [String] = []

    init(policy: ServicePolicy, counted_s: Double) { (self.policy, self.counted_s) = (policy, counted_s) }

    /// Adds, replaces or removes a process.
    mutating func set(_ process: Attached?, at number: UInt64) {
      if let old = processes[number] {
        let left = loads[old.build, default: 1] - 1
        loads[old.build] = left > 0 ? left : nil
      }
      processes[number] = process
      if let process { loads[process.build, default: 0] += 1 }
    }

    mutating func remember(_ counted: ProtectedClass, of number: UInt64) {
      processes[number]?.classes[counted.name] = counted
    }

    /// Whether the statistics have not yet counted a crash of the process with the given ring ID.
    ///
    /// crashd can store a report of the same crash again: it rebuilds the report when the process records the crash of
    /// another thread.
    mutating func isNew(_ incarnation: String) -> Bool {
      guard !crashed.contains(incarnation) else { return false }
      if crashed.count == PolicyKeeper.rememberedCrashes { crashed.removeFirst() }
      crashed.append(incarnation)
      return true
    }
  }

  struct Attached {
    var build: String
    var classes: [String: ProtectedClass] = [:]
    var outcome: ControlOutcome
  }

  /// The minimum confidence of a diagnosis that is counted as a use-after-free crash.
  static let leastConfidence = 0.8
  private static let rememberedCrashes = 64
  private static let splitEvery_s = 3_600.0
  /// The minimum relative change of a class's slot limit that is applied.
  ///
  /// Each change empties the class's quarantine, so small changes are not worth it.
  private static let limitChange = 0.25

  let store: ReportStore
  let board: ProtectionBoard
  let ledger: Ledger
  let logger: Logger
  let configuration: Configuration
  private let clock: @Sendable () -> Double
  var services: [ServiceKey: Service] = [:]

  /// Loads the state that an earlier crashd stored.
  init(
    store: ReportStore, board: ProtectionBoard, ledger: Ledger, logger: Logger,
    configuration: Configuration = Configuration(),
    clock: @escaping @Sendable () -> Double = { Double(Moment.now().nanoseconds) / 1e9 }
  ) {
    self.store = store
    self.board = board
    self.ledger = ledger
    self.logger = logger
    self.configuration = configuration
    self.clock = clock
    services = Self.stored(in: store, at: clock(), logger: logger)
    // Publish the stored plans before the first process can attach.
    for (key, service) in services { board.set(service.policy.plan, for: key) }
  }

  /// Loads the stored services that are not in memory yet.
  ///
  /// Loading again is needed if crashd could not open the store when it started.
  func load() {
    let found = Self.stored(in: store, at: clock(), logger: logger)
    for (key, service) in found where services[key] == nil {
      services[key] = service
      board.set(service.policy.plan, for: key)
    }
  }

  private static func stored(in store: ReportStore, at time_s: Double, logger: Logger) -> [ServiceKey: Service] {
    var services: [ServiceKey: Service] = [:]
    do throws(StoreError) {
      for state in try store.danglingStates() {
        do {
          let policy = try JSONDecoder().decode(ServicePolicy.self, from: state.policy)
          var service = Service(policy: policy, counted_s: time_s)
          service.book = try JSONDecoder().decode(ClassBook.self, from: state.classes)
          let key = ServiceKey(uid: state.uid, program: state.program, isRestricted: state.isRestricted)
          services[key] = service
        } catch {
          // Another version of crashd wrote the stored state in a format that this version cannot read. Start the
          // statistics of the service from zero.
          logger.warning(
            "cannot read the dangling statistics of '\(state.program)' (uid \(state.uid)), ignoring: \(error)")
        }
      }
    } catch {
      logger.error("cannot read the dangling statistics: \(error)")
    }
    return services
  }

  var now_s: Double { clock() }
}

// Handles the attach, the end and the crash of processes.
extension PolicyKeeper {
  func attached(_ process: AttachedProcess) {
    let key = ServiceKey(process.facts)
    guard makeService(key, name: process.facts.identity.name, peer: process.facts.peer) else { return }
    addHours(of: key)
    services[key]?.set(
      Attached(build: Self.build(process.facts), outcome: process.control), at: process.number)
    receive(.load(loads(of: key)), key)
  }

  func ended(_ process: AttachedProcess) {
    let key = ServiceKey(process.facts)
    guard services[key]?.processes[process.number] != nil else { return }
    addHours(of: key)
    services[key]?.set(nil, at: process.number)
    receive(.load(loads(of: key)), key)
  }

  /// Whether the statistics count the crash that a report describes.
  ///
  /// The statistics count only use-after-free crashes whose diagnosis has a high confidence. The function is static, so
  /// that callers need not wait for the actor.
  static func counts(_ report: CrashReport) -> Bool {
    report.diagnosis.cause == .dangling && report.diagnosis.confidence >= leastConfidence
  }

  /// Counts the crash that a report describes, after crashd stored the report.
  func stored(_ report: CrashReport, of facts: ProcessFacts) {
    guard Self.counts(report) else { return }
    let key = ServiceKey(facts)
    guard makeService(key, name: facts.identity.name, peer: facts.peer),
      services[key]?.isNew(facts.identity.ringID) == true, let before = services[key]
    else { return }
    let build = Self.build(facts)
    let className = report.diagnosis.className.flatMap(Self.usable)
    let crash = DanglingCrash(
      build: build, incarnation: facts.identity.ringID, instance: facts.unit ?? key.program, className: className)
    let counted = before.policy.loop.countedCrashes
    if let className, report.diagnosis.confidence >= 0.9 {
      services[key]?.book.crash(className, build: build, at: now_s)
    }
    receive(.crash(crash), key)
    let isCounted = services[key]?.policy.loop.countedCrashes != counted
    services[key]?.policy.count(at: now_s) { day in
      day.crashes += 1
      if isCounted { day.counted += 1 }
      if day.builds?[build] != nil || (day.builds?.count ?? 0) < ServicePolicy.buildLimit {
        day.builds = (day.builds ?? [:]).merging([build: 1], uniquingKeysWith: +)
      }
    }
    save(key)
  }

  /// Returns the name of a class if a plan can contain this name; otherwise nil.
  static func usable(_ name: String) -> String? {
    name.isEmpty || name.utf8.count > ControlPlan.nameLimitBytes ? nil : name
  }

  static func build(_ facts: ProcessFacts) -> String { facts.buildID.isEmpty ? "unknown" : facts.buildID }
}

// Advances the time of the statistics, and applies and stores the resulting decisions.
extension PolicyKeeper {
  /// Records that crashd has read the counters of all processes once.
  ///
  /// The function then advances the time in the statistics and stores the changed services.
  func tick() {
    for key in services.keys.sorted() {
      addHours(of: key)
      services[key]?.book.endRound(at: now_s)
      receive(.load(loads(of: key)), key)
      split(key)
      if services[key]?.isDirty == true { save(key) }
    }
  }

  /// Passes an input to the policy of a service, stores the resulting events, and publishes the resulting plan.
  func receive(_ input: PolicyInput, _ key: ServiceKey) {
    guard var service = services[key] else { return }
    let before = service.policy.loop.protection
    let events = service.policy.loop.receive(input, at: now_s)
    service.policy.lastSeen_s = now_s
    service.isDirty = true
    services[key] = service
    for event in events { logger.notice("'\(service.policy.name)' (uid \(key.uid)): \(CleanText.line(event.text))") }
    if service.policy.loop.protection != before { split(key, isForced: true) }
    if !events.isEmpty { save(key, events.map { DanglingDecision($0) }) }
    board.set(services[key]?.policy.plan, for: key)
  }

  /// Stores the service together with its new decisions.
  func save(_ key: ServiceKey, _ decisions: [DanglingDecision] = []) {
    guard let service = services[key] else { return }
    do {
      let encoder = JSONEncoder()
      let state = DanglingState(
        uid: key.uid, program: key.program, isRestricted: key.isRestricted,
        policy: try encoder.encode(service.policy), classes: try encoder.encode(service.book))
      let events = try decisions.map { decision in
        DanglingEvent(
          uid: key.uid, program: key.program, isRestricted: key.isRestricted, time: decision.time,
          json: try encoder.encode(decision))
      }
      try store.put(dangling: state, events: events)
      services[key]?.isDirty = false
    } catch {
      // The decision stays in force while this crashd runs. crashd stores the resulting policy with the next change of
      // the service.
      logger.error("cannot store the dangling statistics of '\(service.policy.name)' (uid \(key.uid)): \(error)")
      ledger.lose(["policy": 1], of: Peer(pid: 0, uid: key.uid), process: service.policy.name)
    }
  }

  /// Adds a service if it does not exist; returns false if there are too many services.
  func makeService(_ key: ServiceKey, name: String, peer: Peer) -> Bool {
    if services[key] != nil {
      if !name.isEmpty { services[key]?.policy.name = name }
      return true
    }
    let limits = configuration.limits
    let account = limits.account(of: key.uid)
    let own = services.filter {
      limits.account(of: $0.key.uid) == account && $0.key.isRestricted == key.isRestricted
    }
    let isFull = services.count >= limits.places(limits.danglingServices, for: key.uid)
    if isFull || (key.uid != 0 && own.count >= limits.danglingServicesPerUser) {
      // Evict only a service of the same user, and none for which an operator has set quarantine rules.
      let idle = own.filter { $0.value.processes.isEmpty && !$0.value.policy.hasRules }
      // Services with guard modes are evicted last. They must be evictable, because the command `guards set` without a
      // program gives guard modes to every service.
      let oldest = idle.min { left, right in
        (left.value.policy.guards == nil ? 0 : 1, left.value.policy.lastSeen_s)
          < (right.value.policy.guards == nil ? 0 : 1, right.value.policy.lastSeen_s)
      }
      guard let oldest else {
        ledger.refuse(
          "service", from: peer,
          because: "statistics of \(own.count) programs of this user and of \(services.count) in all are already kept")
        return false
      }
      if oldest.value.policy.guards != nil {
        logger.notice(
          "evicting statistics and guard modes of '\(oldest.value.policy.name)' (uid \(key.uid)) for another program")
      }
      forget(oldest.key)
    }
    let rules = ProtectionRules(allowsAutomaticProtection: configuration.allowsAutomaticProtection)
    services[key] = Service(policy: ServicePolicy(name: name, rules: rules, at: now_s), counted_s: now_s)
    return true
  }

  private func forget(_ key: ServiceKey) {
    services[key] = nil
    board.set(nil, for: key)
    do throws(StoreError) {
      try store.forgetDangling(uid: key.uid, program: key.program, isRestricted: key.isRestricted)
    } catch {
      logger.error("cannot remove the dangling statistics of '\(key.program)': \(error)")
    }
  }

  private func loads(of key: ServiceKey) -> [String: Double] { services[key]?.loads ?? [:] }

  private func addHours(of key: ServiceKey) {
    guard let service = services[key] else { return }
    let hours = min(max(now_s - service.counted_s, 0), 86_400) / 3_600
    services[key]?.counted_s = now_s
    guard hours > 0, !service.processes.isEmpty else { return }
    services[key]?.policy.count(at: now_s) { $0.processHours += hours * Double(service.processes.count) }
    services[key]?.isDirty = true
  }

  /// Divides the memory budget among the protected classes again if an hour has passed or `isForced` is true.
  private func split(_ key: ServiceKey, isForced: Bool = false) {
    guard var service = services[key] else { return }
    let protection = service.policy.loop.protection
    guard !protection.classes.isEmpty else { return }
    if !isForced, let last = service.split_s, now_s - last < Self.splitEvery_s { return }
    var generator = SystemRandomNumberGenerator()
    let limits = service.book.split(protection.classes, budgetBytes: protection.budgetBytes, using: &generator)
    let before = service.policy.limits
    service.policy.limits = limits.reduce(into: [:]) { result, new in
      let (name, limit) = new
      let old = before[name] ?? 0
      result[name] = abs(Double(limit - old)) > Double(old) * Self.limitChange ? limit : old
    }
    service.split_s = now_s
    services[key] = service
    board.set(service.policy.plan, for: key)
  }
}
