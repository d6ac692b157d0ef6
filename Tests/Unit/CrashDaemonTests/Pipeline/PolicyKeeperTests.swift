import CShimRing
import CrashProtocol
import CrashReport
import CrashRing
import CrashStore
import DanglingStatistics
import FoundationEssentials
import Glibc
import Synchronization
import TestKit
import Testing

@testable import CrashDaemon

/// A clock whose time a test sets.
private final class TestClock: Sendable {
  private let time = Mutex(1_800_000_000.0)
  var now_s: Double { time.withLock { $0 } }
  func advance(_ seconds: Double) { time.withLock { $0 += seconds } }
}

@Suite("The policy that protects classes against use-after-free")
struct PolicyKeeperTests {
  private static func keeper(
    _ store: ReportStore, _ clock: TestClock, _ board: ProtectionBoard, isAllowed: Bool = true,
    limits: Limits = Limits()
  ) -> PolicyKeeper {
    PolicyKeeper(
      store: store, board: board, ledger: Ledger(logger: TestLog.logger, limits: limits), logger: TestLog.logger,
      configuration: PolicyKeeper.Configuration(allowsAutomaticProtection: isAllowed, limits: limits),
      clock: { clock.now_s })
  }

  private static func facts(_ incarnation: Int = 0, program: String = "/srv/shop", uid: UInt32 = 1000) -> ProcessFacts {
    var contents = RingContents.sample([], image: program)
    contents.identity.ringID = "\(incarnation)"
    return ProcessFacts(contents, peer: Peer(pid: 7, uid: uid), unit: nil)
  }

  private static func report(className: String?, confidence: Double = 1, cause: CrashReport.Cause = "dangling") throws
    -> CrashReport
  {
    var report = try CrashReport.sample(id: "ab")
    report.diagnosis = CrashReport.Diagnosis(
      cause: cause, sentence: "", rule: "rule", confidence: confidence, className: className)
    return report
  }

  /// Simulates runs of a process, one for each number in `times`.
  ///
  /// Each run ends by a crash with the given facts.
  private static func crash(
    _ keeper: PolicyKeeper, _ clock: TestClock, times: Range<Int>, className: String?, confidence: Double = 1,
    cause: CrashReport.Cause = "dangling"
  ) async throws {
    for life in times {
      clock.advance(10)
      await keeper.stored(
        try report(className: className, confidence: confidence, cause: cause), of: facts(life))
    }
  }

  private static func withStore(_ body: (ReportStore) async throws -> Void) async throws {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    try await body(store)
    try store.close()
  }

  private static let key = ServiceKey(uid: 1000, program: "/srv/shop")

  @Test("after several use-after-free crashes that name a class, crashd protects it, also after a restart")
  func alarm() async throws {
    try await Self.withStore { store in
      let (clock, board) = (TestClock(), ProtectionBoard())
      let keeper = Self.keeper(store, clock, board)
      try await Self.crash(keeper, clock, times: 0..<1, className: "App.Session")
      await keeper.change([Self.key], RuleChange(crashLoop_s: 0))
      #expect(board.plan(of: Self.key) == nil)
      try await Self.crash(keeper, clock, times: 1..<8, className: "App.Session")
      let plan = try #require(board.plan(of: Self.key))
      #expect(plan.words.map(\.name) == ["App.Session"] && plan.words.allSatisfy { !$0.isOperator && !$0.isRelease })
      #expect(plan.budgetBytes == 4 << 20 && !plan.isOff && !plan.isOperator)
      let events = try store.danglingEvents(limit: 10)
      #expect(events.count == 2 && events.allSatisfy { $0.program == "/srv/shop" && $0.uid == 1000 })
      let text = String(decoding: events[0].json, as: UTF8.self)
      #expect(text.contains("base → raised") && text.contains("App.Session") && text.contains("are usual"))

      let next = ProtectionBoard()
      let again = Self.keeper(store, clock, next)
      #expect(next.plan(of: Self.key) == plan)
      // Eight days later, crashd has lowered the level of protection again. The class stays protected, with the small
      // budget.
      clock.advance(8 * 86_400)
      await again.tick()
      let lowered = try #require(next.plan(of: Self.key))
      #expect(lowered.budgetBytes == 256 << 10 && lowered.words.map(\.name) == ["App.Session"])
      let last = try #require(try store.danglingEvents(limit: 1).first)
      #expect(String(decoding: last.json, as: UTF8.self).contains("raised → base"))
    }
  }

  @Test("F6: a user neither sees nor changes the policy of a process with more privileges, even after a restart")
  func restricted() async throws {
    try await Self.withStore { store in
      let (clock, board) = (TestClock(), ProtectionBoard())
      let keeper = Self.keeper(store, clock, board)
      var facts = Self.facts()
      facts.isRestricted = true
      let key = ServiceKey(facts)
      try await Self.crash(keeper, clock, times: 0..<1, className: "App.Session")
      await keeper.stored(try Self.report(className: "App.Secret"), of: facts)
      await keeper.protect([key], "App.Secret", ServicePolicy.Wish())
      #expect(await keeper.find(nil, .user(1_000)) == [Self.key])
      #expect(await keeper.find(nil, .all) == [Self.key, key])
      #expect(board.plan(of: Self.key) == nil)
      #expect(board.plan(of: key)?.words.contains { $0.name == "App.Secret" } == true)
      #expect(try store.danglingEvents(visibility: .user(1_000), limit: 9).isEmpty)
      #expect(try Set(store.danglingEvents(limit: 9).map(\.uid)) == [1_000])

      let next = ProtectionBoard()
      let again = Self.keeper(store, clock, next)
      #expect(await again.find(nil, .user(1_000)) == [Self.key])
      #expect(next.plan(of: key) == board.plan(of: key) && next.plan(of: Self.key) == nil)
    }
  }

  @Test("crashes without a class make the policy protect all in-app classes")
  func unknownClass() async throws {
    try await Self.withStore { store in
      let (clock, board) = (TestClock(), ProtectionBoard())
      let keeper = Self.keeper(store, clock, board)
      try await Self.crash(keeper, clock, times: 0..<1, className: nil)
      await keeper.change([Self.key], RuleChange(crashLoop_s: 0))
      try await Self.crash(keeper, clock, times: 1..<8, className: nil, confidence: 0.9)
      #expect(board.plan(of: Self.key)?.words.map(\.name) == [nil])
    }
  }

  @Test("overrides of guard modes are sent in their own message, survive a restart, and can be removed")
  func guards() async throws {
    try await Self.withStore { store in
      let (clock, board) = (TestClock(), ProtectionBoard())
      let keeper = Self.keeper(store, clock, board)
      try await Self.crash(keeper, clock, times: 0..<1, className: "App.Session")
      #expect(board.plan(of: Self.key) == nil)
      await keeper.setGuards([Self.key], ["index"], to: .absorb, isImplicit: false, "one")
      await keeper.setGuards([Self.key], ["range", "of another version"], to: .observe, isImplicit: true, "two")
      let plan = try #require(board.plan(of: Self.key))
      // No message of the plan is about the quarantine, so the quarantine keeps the program's own settings.
      let messages = ControlPlan.messages(of: plan, round: 7)
      #expect(messages.map(\.kind) == [.CS_CONTROL_GUARDS, .CS_CONTROL_SWEEP])
      var payload = [UInt8](repeating: 0, count: 136)
      (payload[0], payload[8 + 1], payload[8 + 64 + 2]) = (7, 3, 2)
      #expect(messages.first?.payload == payload)

      // A second identical override changes nothing.
      await keeper.setGuards([Self.key], ["index"], to: .absorb, isImplicit: false, "again")

      let next = ProtectionBoard()
      let again = Self.keeper(store, clock, next)
      #expect(next.plan(of: Self.key) == plan)
      let view = try #require(await again.guardServices([Self.key]).first)
      #expect(view.modes == ["index": "absorb"] && view.implicitModes["range"] == "observe" && view.processes == 0)
      await again.protect([Self.key], "App.Session", ServicePolicy.Wish())
      let both = ControlPlan.messages(of: next.plan(of: Self.key), round: 8).map(\.kind)
      #expect(both == [.CS_CONTROL_GUARDS, .CS_CONTROL_SETTINGS, .CS_CONTROL_PROTECT, .CS_CONTROL_SWEEP])

      await again.setGuards([Self.key], Array(GuardKinds.names), to: nil, isImplicit: false, "three")
      #expect(next.plan(of: Self.key)?.guards.modes == [:] && next.plan(of: Self.key)?.guards.isEmpty == false)
      await again.setGuards([Self.key], ["range", "of another version"], to: nil, isImplicit: true, "four")
      #expect(next.plan(of: Self.key)?.guards.isEmpty == true)
      let words = try store.danglingEvents(limit: 10).map { String(decoding: $0.json, as: UTF8.self) }
      #expect(!words.contains { $0.contains("\"again\"") })
      #expect(["one", "two", "three", "four"].allSatisfy { word in words.contains { $0.contains("\"\(word)\"") } })
    }
  }

  @Test("without automatic protection an alarm is only reported; it ignores other crashes and uncertain ones")
  func advice() async throws {
    try await Self.withStore { store in
      let (clock, board) = (TestClock(), ProtectionBoard())
      let keeper = Self.keeper(store, clock, board, isAllowed: false)
      try await Self.crash(keeper, clock, times: 0..<20, className: "App.Session", cause: "null-pointer")
      try await Self.crash(keeper, clock, times: 20..<40, className: "App.Session", confidence: 0.5)
      #expect(await keeper.services.isEmpty)
      try await Self.crash(keeper, clock, times: 40..<41, className: "App.Session")
      await keeper.change([Self.key], RuleChange(crashLoop_s: 0))
      try await Self.crash(keeper, clock, times: 41..<50, className: "App.Session")
      #expect(board.plan(of: Self.key) == nil)
      let event = try #require(try store.danglingEvents(limit: 1).first)
      #expect(String(decoding: event.json, as: UTF8.self).contains("the rules forbid raising it"))
    }
  }

  @Test("crashes of many threads of a process, and of a restart loop, are counted once by the policy")
  func counting() async throws {
    try await Self.withStore { store in
      let (clock, board) = (TestClock(), ProtectionBoard())
      let keeper = Self.keeper(store, clock, board)
      for _ in 0..<20 { await keeper.stored(try Self.report(className: "App.Session"), of: Self.facts(1)) }
      try await Self.crash(keeper, clock, times: 2..<20, className: "App.Session")
      #expect(board.plan(of: Self.key) == nil)
      let view = try #require(await keeper.reports([Self.key]).first)
      #expect(view.countedCrashes == 1 && view.days.map(\.crashes) == [19] && view.days.map(\.counted) == [1])
    }
  }

  @Test("an override takes precedence over the processes' own settings, and each override causes an event")
  func precedence() async throws {
    try await Self.withStore { store in
      let (clock, board) = (TestClock(), ProtectionBoard())
      let keeper = Self.keeper(store, clock, board)
      #expect(await keeper.makeService(Self.key, name: "shop", peer: Peer(pid: 1, uid: 1000)))
      #expect(await keeper.find("sho", .user(1000)) == [Self.key])
      #expect(await keeper.find("sho", .user(1001)).isEmpty)
      #expect(await keeper.find("/srv", .all).isEmpty)
      // `find` selects a service by the name of its last process, or by its executable.
      let other = ServiceKey(uid: 1000, program: "/srv/crash-maker")
      #expect(await keeper.makeService(other, name: "checkout-api", peer: Peer(pid: 2, uid: 1000)))
      #expect(await keeper.find("crash-maker", .all) == [other])
      #expect(await keeper.find("checkout", .all) == [other])
      await keeper.protect([Self.key], "App.Session", ServicePolicy.Wish(limit: 99, mode: .diagnose))
      var plan = try #require(board.plan(of: Self.key))
      #expect(plan.words == [ControlPlan.Word(name: "App.Session", isOperator: true, policy: .diagnose, limit: 99)])
      await keeper.release([Self.key], "App.Session")
      plan = try #require(board.plan(of: Self.key))
      #expect(plan.words.map(\.isRelease) == [true] && plan.words.map(\.isOperator) == [true])
      await keeper.change([Self.key], RuleChange(pin: .off))
      plan = try #require(board.plan(of: Self.key))
      #expect(plan.isOff && plan.isOperator)
      #expect(try store.danglingEvents(limit: 10).count == 4)
    }
  }

  @Test("the number of a user's programs is limited; programs with overrides are kept, and other users lose no program")
  func limits() async throws {
    try await Self.withStore { store in
      var limits = Limits()
      limits.danglingServicesPerUser = 2
      let (clock, board) = (TestClock(), ProtectionBoard())
      let keeper = Self.keeper(store, clock, board, limits: limits)
      let keys = (0..<4).map { ServiceKey(uid: 1000, program: "/\($0)") }
      let peer = Peer(pid: 1, uid: 1000)
      #expect(await keeper.makeService(ServiceKey(uid: 1001, program: "/x"), name: "", peer: peer))
      for key in keys.prefix(2) { #expect(await keeper.makeService(key, name: "", peer: peer)) }
      await keeper.protect([keys[0]], "App.Session", ServicePolicy.Wish())
      #expect(await keeper.makeService(keys[2], name: "", peer: peer))
      #expect(await keeper.services.keys.sorted() == [keys[0], keys[2], ServiceKey(uid: 1001, program: "/x")])
      await keeper.protect([keys[2]], "App.Session", ServicePolicy.Wish())
      #expect(await !keeper.makeService(keys[3], name: "", peer: peer))
      #expect(await keeper.services.count == 3)
    }
  }

  @Test("hits and counters become estimates, and each incident is counted once, however often it is read")
  func statistics() async throws {
    let daemon = try TestDaemon(TestDirectory())
    let policy = try #require(daemon.analysis.policy)
    var ring = TestRing()
    ring.addImage(0)
    ring.addIncident(3, key: 0x1234, subject: "App.Session", count: 500, mode: 1)
    ring.addClass(0, "App.Session", admitted: 1_000)
    let source = try RingSource(memory: ring.memory())
    let facts = ProcessFacts(source.mapping.contents(), peer: Peer(pid: 4711, uid: geteuid()), unit: nil)
    let process = AttachedProcess(number: 4, facts: facts, ring: source)
    await policy.attached(process)
    let seen = await daemon.analysis.observe(process, seen: [:])
    _ = await daemon.analysis.observe(process, seen: seen)
    await policy.tick()
    let found = try #require(await policy.summaries(await policy.find(nil, .all)).first)
    #expect(found.summary.className == "App.Session" && found.summary.hits == 1 && found.summary.groups == 1)
    #expect(found.summary.detection != nil)
    await policy.ended(process)
    // The store has the state that the policy wrote when the process ended.
    let states = try daemon.store.danglingStates()
    #expect(states.count == 1 && states.first?.classes.isEmpty == false)
    // The class is a suspect, but there is no plan for it, because automatic protection is off.
    let key = try #require(await policy.find(nil, .all).first)
    #expect(await policy.board.plan(of: key) == nil)
    await policy.change([key], RuleChange(allowsAutomaticProtection: true))
    #expect(await policy.board.plan(of: key)?.words.map(\.name) == ["App.Session"])
  }
}
