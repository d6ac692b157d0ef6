import CShimRing
import CrashReport
import CrashRing
import CrashStore
import DanglingStatistics
import FoundationEssentials
import Glibc
import Synchronization
import Testing

@testable import CrashDaemon

/// A clock that a test sets.
private final class TestClock: Sendable {
  private let time = Mutex(1_800_000_000.0)
  var now_s: Double { time.withLock { $0 } }
  func advance(_ seconds: Double) { time.withLock { $0 += seconds } }
}

@Suite("The policy of dangling pointers")
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

  private static func report(className: String?, confidence: Double = 1, cause: String = "dangling") throws
    -> CrashReport
  {
    var report = try CrashReport.sample(id: "ab")
    report.diagnosis = CrashReport.Diagnosis(
      cause: cause, sentence: "", rule: "rule", confidence: confidence, className: className)
    return report
  }

  /// So many lives of a process, each of which ends in such a crash.
  private static func crash(
    _ keeper: PolicyKeeper, _ clock: TestClock, times: Range<Int>, className: String?, confidence: Double = 1,
    cause: String = "dangling"
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

  @Test("crashes that name a class are an alarm, which protects it; the decision and its state survive a restart")
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
      // A week later its time is over; the class stays listed with the small budget.
      clock.advance(8 * 86_400)
      await again.tick()
      let lowered = try #require(next.plan(of: Self.key))
      #expect(lowered.budgetBytes == 256 << 10 && lowered.words.map(\.name) == ["App.Session"])
      let last = try #require(try store.danglingEvents(limit: 1).first)
      #expect(String(decoding: last.json, as: UTF8.self).contains("raised → base"))
    }
  }

  @Test("where no crash names a class, all of the program's own are protected")
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

  @Test("an operator's modes of guards are told in a message of their own, survive a restart, and are taken back")
  func guards() async throws {
    try await Self.withStore { store in
      let (clock, board) = (TestClock(), ProtectionBoard())
      let keeper = Self.keeper(store, clock, board)
      try await Self.crash(keeper, clock, times: 0..<1, className: "App.Session")
      #expect(board.plan(of: Self.key) == nil)
      await keeper.setGuards([Self.key], ["index"], to: .absorb, isImplicit: false, "one")
      await keeper.setGuards([Self.key], ["range", "of another version"], to: .observe, isImplicit: true, "two")
      let plan = try #require(board.plan(of: Self.key))
      // Nothing is said of dead objects, whose settings are the program's.
      let messages = ControlPlan.messages(of: plan, round: 7)
      #expect(messages.map(\.kind) == [.CS_CONTROL_GUARDS, .CS_CONTROL_SWEEP])
      var payload = [UInt8](repeating: 0, count: 136)
      (payload[0], payload[8 + 1], payload[8 + 64 + 2]) = (7, 3, 2)
      #expect(messages.first?.payload == payload)

      // The same once more is nothing new.
      await keeper.setGuards([Self.key], ["index"], to: .absorb, isImplicit: false, "again")

      let next = ProtectionBoard()
      let again = Self.keeper(store, clock, next)
      #expect(next.plan(of: Self.key) == plan)
      let view = try #require(await again.guardViews([Self.key]).first)
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

  @Test("without the operator's leave an alarm is only told; crashes of other causes and unsure ones do not count")
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
      #expect(String(decoding: event.json, as: UTF8.self).contains("do not let it rise"))
    }
  }

  @Test("one process that crashes in many threads, and a restart loop, count once")
  func counting() async throws {
    try await Self.withStore { store in
      let (clock, board) = (TestClock(), ProtectionBoard())
      let keeper = Self.keeper(store, clock, board)
      for _ in 0..<20 { await keeper.stored(try Self.report(className: "App.Session"), of: Self.facts(1)) }
      try await Self.crash(keeper, clock, times: 2..<20, className: "App.Session")
      #expect(board.plan(of: Self.key) == nil)
      let view = try #require(await keeper.views([Self.key]).first)
      #expect(view.countedCrashes == 1 && view.days.map(\.crashes) == [19] && view.days.map(\.counted) == [1])
    }
  }

  @Test("an operator's words are for the processes, stronger than theirs, and each is an event")
  func operatorsWord() async throws {
    try await Self.withStore { store in
      let (clock, board) = (TestClock(), ProtectionBoard())
      let keeper = Self.keeper(store, clock, board)
      #expect(await keeper.makeService(Self.key, name: "shop", peer: Peer(pid: 1, uid: 1000)))
      #expect(await keeper.find("sho", .user(1000)) == [Self.key])
      #expect(await keeper.find("sho", .user(1001)).isEmpty)
      #expect(await keeper.find("/srv", .all).isEmpty)
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

  @Test("a user has so many programs; those of which an operator spoke stay, and other users lose nothing")
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

  @Test("hits and counters become estimates; of one look each incident counts once")
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
    // Read again from the store.
    let states = try daemon.store.danglingStates()
    #expect(states.count == 1 && states.first?.classes.isEmpty == false)
    // The class is suspect, but nobody has let crashd protect anything by itself.
    let key = try #require(await policy.find(nil, .all).first)
    #expect(await policy.board.plan(of: key) == nil)
    await policy.change([key], RuleChange(allowsAutomaticProtection: true))
    #expect(await policy.board.plan(of: key)?.words.map(\.name) == ["App.Session"])
  }
}

@Suite("What an incident counts for")
struct DanglingUseTests {
  /// What the policy makes of a process with such a ring.
  private static func seen(
    _ prepare: (inout TestRing) -> Void, _ body: (PolicyKeeper, ServiceKey) async throws -> Void
  ) async throws {
    let daemon = try TestDaemon(TestDirectory())
    let policy = try #require(daemon.analysis.policy)
    var ring = TestRing()
    ring.addImage(0)
    prepare(&ring)
    let source = try RingSource(memory: ring.memory())
    let facts = ProcessFacts(source.mapping.contents(), peer: Peer(pid: 4711, uid: geteuid()), unit: nil)
    let process = AttachedProcess(number: 4, facts: facts, ring: source)
    await policy.attached(process)
    _ = await daemon.analysis.observe(process, seen: [:])
    await policy.tick()
    try await body(policy, try #require(await policy.find(nil, .all).first))
    // The store was open until here.
    #expect(try daemon.store.danglingStates().count == 1)
  }

  @Test("uses of freed objects in guard slots are hits of their class, without a delay; each is what it was")
  func slots() async throws {
    try await Self.seen { ring in
      for (index, kind) in (1...7 as ClosedRange<UInt32>).enumerated() {
        ring.addIncident(index, key: UInt64(kind), subject: "App.Session", count: 1, mode: 0)
        ring.makePageIncident(index, kind: kind, amount: 16)
      }
      // A crash follows: that counts.
      ring.addIncident(7, key: 8, subject: "App.Session", count: 1, mode: 4)
      ring.makePageIncident(7, kind: 1, amount: 16, method: 0x10010)
      // Of memory that is no object.
      ring.addIncident(8, key: 9, subject: "", count: 1, mode: 0)
      ring.makePageIncident(8, kind: 1, amount: 16)
    } _: { policy, key in
      let statistics = try #require(await policy.services[key]?.book.all.first)
      #expect(statistics.className == "App.Session" && statistics.hits == [.access: 2, .release: 1])
      #expect(statistics.delays.total.seen == 0)
      let view = try #require(await policy.views([key]).first)
      #expect(view.days.map(\.hits) == [3])
      // They make the class a suspect, as the quarantine's do.
      await policy.change([key], RuleChange(allowsAutomaticProtection: true))
      #expect(await policy.board.plan(of: key)?.words.map(\.name) == ["App.Session"])
    }
  }

  @Test("a handle that was asked for an object that had gone is no call of it, and makes no class a suspect")
  func handles() async throws {
    try await Self.seen { ring in
      ring.addIncident(0, key: 1, subject: "App.Session", count: 3, mode: 0)
      ring.setKind(0, 6)
    } _: { policy, key in
      let found = try #require(await policy.summaries([key]).first?.summary)
      #expect(found.className == "App.Session" && found.handleMisses == 1 && found.hits == 0 && found.groups == 0)
      #expect(try #require(await policy.views([key]).first).days.map(\.hits) == [1])
      await policy.change([key], RuleChange(allowsAutomaticProtection: true))
      #expect(await policy.board.plan(of: key) == nil)
    }
  }

  @Test("what is seen only when an object leaves has no delay: nobody knows when it was done")
  func audits() async throws {
    try await Self.seen { ring in
      for (index, kind) in (4...5 as ClosedRange<UInt32>).enumerated() {
        ring.addIncident(index, key: UInt64(kind), subject: "App.Session", count: 1, mode: 1)
        ring.setKind(index, kind)
      }
      ring.addClass(0, "App.Session", admitted: 1_000)
    } _: { policy, key in
      let statistics = try #require(await policy.services[key]?.book.all.first)
      #expect(statistics.hits == [.audit: 2] && statistics.delays.total.seen == 0)
    }
  }
}

@Suite("The control channel of crashd")
struct ControlChannelTests {
  /// Reads a control message: its kind, number and payload.
  private static func message(_ bytes: [UInt8]) -> (kind: UInt32, number: UInt32, payload: [UInt8])? {
    guard bytes.count >= MemoryLayout<cs_control_header>.size else { return nil }
    // As many bytes as the structure has, and any bytes are a valid one.
    let header = unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: cs_control_header.self) }
    return (header.kind, header.number, Array(bytes.dropFirst(MemoryLayout<cs_control_header>.size)))
  }

  private static func answer(_ number: UInt32, result: UInt32 = 0) -> [UInt8] {
    let answer = cs_control_answer(
      magic: 0x0052_5753_4e41_5343, version: CS_CONTROL_VERSION, number: number, result: result, count: 1)
    return unsafe withUnsafeBytes(of: answer) { unsafe Array($0) }
  }

  private static func receive(_ process: TestProcess) async throws -> (kind: UInt32, number: UInt32, payload: [UInt8]) {
    let socket = process.socket
    return try #require(message(try await onThread { try socket.receive() }))
  }

  private static let own = "io.crashshield.Crashd"

  @Test("a mode that only a later crashd knows is kept, and not told")
  func laterMode() throws {
    let stored = #"{"modes":{"index":"later","cast":"off"},"implicitModes":{}}"#
    let words = try JSONDecoder().decode(GuardWords.self, from: Data(stored.utf8))
    var bytes = [UInt8](repeating: 0, count: 64)
    bytes[9] = 1
    let message = words.message(round: 1)
    #expect(unsafe withUnsafeBytes(of: message.modes) { unsafe Array($0) } == bytes)
    #expect(String(decoding: try JSONEncoder().encode(words), as: UTF8.self).contains(#""index":"later""#))
  }

  @Test("answers to what was said before are not taken for answers to what is said now")
  func staleAnswers() throws {
    var ends: [Int32] = [-1, -1]
    let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
    try #require(unsafe socketpair(AF_UNIX, type, 0, &ends) == 0)
    let socket = AttachSocket(descriptor: Descriptor(owning: ends[0]))
    let other = Descriptor(owning: ends[1])
    let outcome = ControlOutcome()
    var queue = ControlQueue()
    var plans = [ControlPlan(), ControlPlan()]
    plans[0].guards.set(.off, of: ["index"], isImplicit: false)
    plans[1].guards.set(.absorb, of: ["index"], isImplicit: false)
    for plan in plans {
      queue.take(plan, outcome: outcome)
      queue.send(to: socket)
    }
    // Each is a message of modes and a sweep.
    func answer(_ number: UInt32, _ result: UInt32 = 0) throws -> Bool {
      queue.take(try #require(ControlAnswer(Self.answer(number, result: result))), outcome: outcome)
    }
    #expect(try answer(1, 2))
    #expect(try answer(2))
    #expect(!outcome.now.isComplete && outcome.now.guardsRefused == nil)
    #expect(try answer(3))
    #expect(!outcome.now.isComplete)
    #expect(try answer(4))
    #expect(outcome.now.obeys(plans[1], about: .guards))
    #expect(try !answer(1))
    _ = other
  }

  @Test("a program of before does not know modes of guards, which is shown; of dead objects it does as it is told")
  func guardsOfBefore() async throws {
    try await TestDaemon.run { daemon in
      let process = try await daemon.attach()
      #expect(try await process.attach(TestRing().memory()) == .accepted)
      let client = try await daemon.client()
      async let named = client.call("\(Self.own).GuardSet", ["kind": .string("index"), "mode": .string("off")])
      for kind in [5, 3] as [UInt32] {
        let message = try await Self.receive(process)
        #expect(message.kind == kind)
        try process.send(Self.answer(message.number, result: kind == 5 ? 2 : 0))
      }
      let change = try await named
      #expect(change.int("processes") == 1 && change.int("obeying") == 0)
      for (method, obeying) in [("GuardModes", 0), ("DanglingPolicies", 1)] as [(String, Int64)] {
        let services = try await client.call("\(Self.own).\(method)").array("services")
        guard case .object(let view) = services.first else {
          Issue.record("no service")
          continue
        }
        #expect(view.int("obeying") == obeying)
        if obeying == 0 { #expect(view.string("refusal") == "unknown to the program's version") }
      }
    }
  }

  @Test("an operator's word reaches running processes and those that come; their answers are shown")
  func protect() async throws {
    try await TestDaemon.run { daemon in
      let process = try await daemon.attach()
      #expect(try await process.attach(TestRing().memory()) == .accepted)
      let client = try await daemon.client()
      async let named = client.call(
        "\(Self.own).DanglingProtect", ["class": .string("App.Session"), "limit": .int(9)])
      var kinds: [UInt32] = []
      for _ in 0..<3 {
        let message = try await Self.receive(process)
        kinds.append(message.kind)
        if message.kind == 1 {
          #expect(String(decoding: message.payload.dropFirst(24), as: UTF8.self) == "App.Session")
        }
        try process.send(Self.answer(message.number))
      }
      #expect(kinds == [4, 1, 3])
      let change = try await named
      #expect(change.array("services").count == 1 && change.int("processes") == 1 && change.int("obeying") == 1)
      let policy = try await client.call("\(Self.own).DanglingPolicies").array("services")
      guard case .object(let view) = policy.first else {
        Issue.record("no policy")
        return
      }
      #expect(view.int("processes") == 1 && view.int("obeying") == 1)

      // The same process says hello again: its first connection is told nothing more.
      let next = try await daemon.attach()
      try next.send(TestProcess.hello(), [TestRing().memory()])
      let socket = next.socket
      let reply = try await onThread { try socket.receive() }
      #expect(reply.count == MemoryLayout<cs_attach_reply>.size && reply[256] == 3)
      for kind in [4, 1, 3] as [UInt32] {
        let message = try await Self.receive(next)
        #expect(message.kind == kind)
        try next.send(Self.answer(message.number))
      }
      async let ended = client.call("\(Self.own).DanglingRelease", ["class": .string("App.Session")])
      for kind in [4, 2, 3] as [UInt32] {
        let message = try await Self.receive(next)
        #expect(message.kind == kind)
        try next.send(Self.answer(message.number, result: kind == 2 ? 6 : 0))
      }
      // There is no such class.
      #expect(try await ended.int("obeying") == 0)
      let events = try await client.call("\(Self.own).DanglingEvents").array("events")
      #expect(events.count == 2)
    }
  }

  @Test("an answer that nobody asked for ends the connection, and counts")
  func unasked() async throws {
    try await TestDaemon.run { daemon in
      let process = try await daemon.attach()
      #expect(try await process.attach(TestRing().memory()) == .accepted)
      try process.send(Self.answer(1))
      #expect(try await process.reply() == nil)
      #expect(try await daemon.refusals()["message"] == .int(1))
    }
  }

  @Test("a process that does not answer gets so many messages and no more; a later plan says everything again")
  func window() async throws {
    let plan = ControlPlan(
      budgetBytes: 1, words: (0..<100).map { ControlPlan.Word(name: "App.Class\($0)") } + [ControlPlan.Word(name: nil)])
    var numbers: [Int32] = [-1, -1]
    #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &numbers) == 0)
    let (sender, receiver) = (
      AttachSocket(descriptor: Descriptor(owning: numbers[0])), AttachSocket(descriptor: Descriptor(owning: numbers[1]))
    )
    func received() throws -> [(kind: UInt32, number: UInt32, payload: [UInt8])] {
      var all: [(kind: UInt32, number: UInt32, payload: [UInt8])] = []
      while true {
        var waiting = pollfd(fd: numbers[1], events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&waiting, 1, 0) == 1, let message = try receiver.receive() else { return all }
        all.append(try #require(Self.message(message.bytes)))
      }
    }
    let outcome = ControlOutcome()
    var queue = ControlQueue()
    queue.take(plan, outcome: outcome)
    #expect(queue.firstCount == 32)
    queue.send(to: sender)
    queue.send(to: sender)
    var first = try received()
    #expect(first.count == 32 && first[0].kind == 4)
    // All classes come before single ones.
    #expect(first[1].kind == 1 && first[1].payload.count == 24)
    // Every answer lets one more message out, until all were sent.
    var count = first.count
    while !first.isEmpty {
      for message in first {
        #expect(queue.take(try #require(ControlAnswer(Self.answer(message.number, result: 6))), outcome: outcome))
      }
      queue.send(to: sender)
      first = try received()
      count += first.count
    }
    #expect(count == 103 && outcome.now.isComplete && outcome.now.done == 0)
    #expect(outcome.now.refused["App.Class7"] == "no such class" && outcome.now.refused.count == 102)
    queue.take(nil, outcome: outcome)
    queue.send(to: sender)
    #expect(try received().map(\.kind) == [3] && !outcome.now.isComplete)
  }
}
