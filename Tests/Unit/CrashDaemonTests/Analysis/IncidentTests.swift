import CShimRing
import CrashProtocol
import CrashReport
import CrashRing
import CrashShieldGuards
import CrashStore
import DanglingStatistics
import Glibc
import Synchronization
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Incidents")
struct IncidentTests {
  private static func attached(_ ring: TestRing, number: UInt64 = 4) throws -> AttachedProcess {
    let source = try RingSource(memory: ring.memory())
    let facts = ProcessFacts(source.mapping.contents(), peer: Peer(pid: 4711, uid: geteuid()), unit: nil)
    return AttachedProcess(number: number, facts: facts, ring: source)
  }

  /// A database trigger that makes the database refuse the third incident.
  private static let refusal =
    "CREATE TRIGGER full BEFORE INSERT ON incidents WHEN (SELECT count(*) FROM incidents) = 2 "
    + "BEGIN SELECT RAISE(ABORT, 'no space'); END"

  /// Waits until crashd has processed the incidents of a process that exited normally.
  private static func end(_ process: AttachedProcess, of daemon: TestDaemon) async throws {
    let (events, continuation) = AsyncStream.makeStream(of: PipelineEvent.self)
    let pipeline = CrashPipeline(
      analysis: daemon.analysis, spool: try SpoolDirectory(path: daemon.directories.spool), events: events)
    let running = Task { try await pipeline.run() }
    continuation.yield(.attached(process, []))
    process.hasEnded.store(true, ordering: .releasing)
    continuation.yield(.announced(process))
    continuation.yield(.ended(EndedProcess(process: process, end: .status(0))))
    await withCheckedContinuation { continuation.yield(.settled($0)) }
    _ = await pipeline.progress(pid: 4711, mayRead: { _ in true }, timeout_ms: 600_000)
    continuation.finish()
    running.cancel()
    _ = await running.result
  }

  @Test("incidents of an ended process are stored with sentence, stacks of use and release, and confidence")
  func stored() async throws {
    let daemon = try TestDaemon(TestDirectory())
    var ring = TestRing()
    ring.addImage(0)
    ring.addIncident(3, key: 0x1234, subject: "App.Session", count: 5, mode: 1)
    try await Self.end(Self.attached(ring), of: daemon)

    let incidents = try daemon.store.incidents(limit: 10)
    let incident = try #require(incidents.first)
    #expect(incidents.count == 1 && incident.id.hasSuffix("-0000000000001234"))
    #expect(incident.id.hasPrefix(ring.id.prefix(16)))
    #expect(incident.source == "quarantine" && incident.kind == "call" && incident.mode == "zero")
    #expect(incident.count == 5 && incident.confidence == "certain" && incident.useThread == 12)
    #expect(incident.sentence == "A method of App.Session was called 2 ms after its last release.")
    #expect(incident.use.map(\.address) == [0x40_0010, 0x40_0020])
    #expect(incident.object?.release.map(\.address) == [0x40_0030] && incident.object?.thread == 13)
    #expect(incident.object?.record == 77 && incident.process.pid == 4711)
    // A process that exited normally has no crash report.
    #expect(try daemon.store.count() == 0)
  }

  @Test("a repeated incident keeps its id; if the deinit was deferred, the incident is only probable")
  func again() async throws {
    let daemon = try TestDaemon(TestDirectory())
    var ring = TestRing()
    ring.addImage(0)
    ring.addIncident(0, key: 1, subject: "App.Session", count: 1, mode: 0)
    let process = try Self.attached(ring)
    let first = await daemon.analysis.observe(process, seen: [:])
    #expect(first == [1: 1])
    #expect(await daemon.analysis.observe(process, seen: first) == first)
    let stored = try daemon.store.incidents(limit: 10)
    #expect(stored.map(\.count) == [1] && stored.map(\.confidence) == ["probable"])

    var later = TestRing()
    later.addImage(0)
    later.addIncident(0, key: 1, subject: "App.Session", count: 9, mode: 0)
    #expect(await daemon.analysis.observe(try Self.attached(later), seen: first) == [1: 9])
    #expect(try daemon.store.incidents(limit: 10).map(\.count) == [9])
  }

  @Test("if a ring is read many times concurrently, each incident is stored and counted once", .timeLimit(.minutes(5)))
  func atOnce() async throws {
    // With eight processes, several tasks probably read at the same time. With one process, one task can finish before
    // the next one starts.
    #expect(try await hits(ofRings: 0..<8) == Double(20 * 8))
  }

  @Test("F13: a ring that is attached over many connections is read once", .timeLimit(.minutes(5)))
  func connections() async throws {
    #expect(try await hits(ofRings: Array(repeating: 0, count: 8)) == 20)
  }

  @Test("F13: if one of a ring's connections has ended, the ring is still read for the other connections")
  func goneLeader() async throws {
    let daemon = try TestDaemon(TestDirectory())
    let (events, continuation) = AsyncStream.makeStream(of: PipelineEvent.self)
    let pipeline = CrashPipeline(
      analysis: daemon.analysis, spool: try SpoolDirectory(path: daemon.directories.spool), events: events)
    let running = Task { try await pipeline.run() }
    var ring = TestRing()
    ring.addImage(0)
    ring.addIncident(0, key: 1, subject: "App.Session", count: 1, mode: 1)
    continuation.yield(.attached(try Self.attached(ring, number: 5), []))
    await withCheckedContinuation { continuation.yield(.settled($0)) }
    // Connections 4 and 5 have the same ring. For the pipeline, connection 4 has ended, because it has no entry for it.
    await pipeline.observe(try Self.attached(ring, number: 4))
    #expect(try daemon.store.incidents(limit: 9).count == 1)
    continuation.finish()
    running.cancel()
    _ = await running.result
  }

  /// Attaches rings one after the other.
  ///
  /// Each ring has 20 incidents, and four tasks read each ring concurrently.
  ///
  /// Returns the number of hits (detected accesses) that the policy counts.
  private func hits(ofRings ids: some Sequence<Int>) async throws -> Double {
    let daemon = try TestDaemon(TestDirectory())
    let policy = try #require(daemon.analysis.policy)
    let (events, continuation) = AsyncStream.makeStream(of: PipelineEvent.self)
    let pipeline = CrashPipeline(
      analysis: daemon.analysis, spool: try SpoolDirectory(path: daemon.directories.spool), events: events)
    let running = Task { try await pipeline.run() }
    for (number, id) in ids.enumerated() {
      var ring = TestRing(id: UInt8(id))
      ring.addImage(0)
      for index in 0..<20 {
        ring.addIncident(index, key: UInt64(index) * 2 + 1, subject: "App.Session", count: 1, mode: 1)
      }
      let process = try Self.attached(ring, number: UInt64(number))
      continuation.yield(.attached(process, []))
      await withCheckedContinuation { continuation.yield(.settled($0)) }
      await withTaskGroup(of: Int.self) { group in
        for _ in 0..<4 {
          group.addTask {
            await pipeline.observe(process)
            return (try? daemon.store.incidents(limit: 1_000).count) ?? 0
          }
        }
        for await stored in group { #expect(stored % 20 == 0 && stored > 0) }
      }
    }
    let found = try #require(await policy.summaries(await policy.find(nil, .all)).first)
    continuation.finish()
    running.cancel()
    _ = await running.result
    return found.summary.hits
  }

  @Test("F13: a reading stores all of its incidents or none, and the next reading reports the unstored ones")
  func notStored() async throws {
    let daemon = try TestDaemon(TestDirectory())
    let policy = try #require(daemon.analysis.policy)
    var ring = TestRing()
    ring.addImage(0)
    for index in 0..<3 {
      ring.addIncident(index, key: UInt64(index) * 2 + 1, subject: "App.Session", count: 1, mode: 1)
    }
    let process = try Self.attached(ring)
    await policy.attached(process)
    try daemon.change(Self.refusal)
    let seen = await daemon.analysis.observe(process, seen: [:])
    #expect(seen.isEmpty && daemon.log.contains("no space"))
    #expect(try daemon.store.incidents(limit: 10).isEmpty)
    // crashd loses no incident, because the ring of the process still contains all of them.
    #expect(daemon.analysis.ledger.losses.isEmpty)
    func hits() async -> Double {
      await policy.summaries(await policy.find(nil, .all)).map(\.summary.hits).reduce(0, +)
    }
    #expect(await hits() == 0)
    try daemon.change("DROP TRIGGER full")
    #expect(await daemon.analysis.observe(process, seen: seen).count == 3)
    #expect(await hits() == 3)
    #expect(try daemon.store.incidents(limit: 10).count == 3)
  }

  @Test("incidents of an ended process that the store cannot accept are counted as lost")
  func lost() async throws {
    let daemon = try TestDaemon(TestDirectory())
    var ring = TestRing()
    ring.addImage(0)
    for index in 0..<3 {
      ring.addIncident(index, key: UInt64(index) * 2 + 1, subject: "App.Session", count: 1, mode: 1)
    }
    try daemon.change(Self.refusal)
    try await Self.end(Self.attached(ring), of: daemon)
    #expect(daemon.analysis.ledger.losses == ["incidents": 3] && daemon.log.contains("lost data of"))
    #expect(try daemon.store.incidents(limit: 10).isEmpty)
  }

  @Test(
    "an incident in a guard slot has a sentence for its access kind and is certain",
    arguments: [
      (UInt32(1), "read", "App.Session was read 2 ms after it was freed, 16 bytes into it."),
      (2, "write", "App.Session was written 2 ms after it was freed, 16 bytes into it."),
      (3, "doubleFree", "App.Session was freed again 2 ms after it was freed."),
      (4, "invalidFree", "An address 16 bytes from the start of App.Session was freed."),
      (5, "overflow", "Memory 16 bytes past the end of App.Session was used."),
      (6, "underflow", "Memory 16 bytes before the start of App.Session was used."),
      (7, "trampled", "Memory beside App.Session was written while the block was allocated."),
      (99, "99", "App.Session was used 2 ms after it was freed."),
    ])
  func pages(kind: UInt32, name: String, sentence: String) async throws {
    let daemon = try TestDaemon(TestDirectory())
    var ring = TestRing()
    ring.addImage(0, start: 0x40_0000)
    ring.addIncident(0, key: 1, subject: "App.Session", count: 1, mode: 0, source: 3)
    ring.makePageIncident(0, kind: kind, amount: kind == 6 ? -16 : 16)
    _ = await daemon.analysis.observe(try Self.attached(ring), seen: [:])
    let incident = try #require(try daemon.store.incidents(limit: 10).first)
    #expect(incident.source == "pages" && incident.kind.rawValue == name && incident.confidence == "certain")
    #expect(incident.sentence == sentence && incident.method == nil)
    let object = try #require(incident.object)
    #expect(object.allocation?.map(\.address) == [0x40_0040] && object.allocationThread == 14 && object.bytes == nil)
  }

  @Test("a guard incident has its kind and call site, or its unchanged message if the message contains no call site")
  func guards() async throws {
    let daemon = try TestDaemon(TestDirectory())
    var ring = TestRing()
    ring.addIncident(0, key: 1, subject: "App/Cart.swift: 5 is outside of 0..<3", count: 7, mode: 0, source: 2)
    ring.addIncident(1, key: 2, subject: "odd (x: Int)", count: 1, mode: 3, source: 2)
    ring.setWord(0, 12)
    _ = await daemon.analysis.observe(try Self.attached(ring), seen: [:])
    let incidents = try daemon.store.incidents(limit: 10).sorted { $0.count > $1.count }
    let first = try #require(incidents.first)
    #expect(first.source == "guard" && first.kind == "index" && first.mode == "absorb" && first.count == 7)
    #expect(first.site == "App/Cart.swift:12" && first.subject == "5 is outside of 0..<3")
    #expect(first.sentence == "5 is outside of 0..<3 (App/Cart.swift:12)." && first.confidence == "certain")
    let second = try #require(incidents.last)
    #expect(second.site == nil && second.sentence == "Odd (x: Int)." && second.mode == "observe")
  }

  @Test("a trap of isolated work is reported with its runtime error message, if there is one")
  func isolated() async throws {
    let daemon = try TestDaemon(TestDirectory())
    var ring = TestRing()
    ring.addIncident(0, key: 1, subject: "Shop.swift:12: Fatal error: the shelf is empty", count: 1, mode: 0, source: 4)
    ring.addIncident(1, key: 3, subject: "", count: 1, mode: 0, source: 4)
    _ = await daemon.analysis.observe(try Self.attached(ring), seen: [:])
    let incidents = try daemon.store.incidents(limit: 10)
    #expect(incidents.count == 2 && incidents.allSatisfy { $0.source == "isolated" && $0.kind == "trap" })
    #expect(incidents.allSatisfy { $0.confidence == "certain" && $0.mode == "absorb" && $0.useThread == 12 })
    let sentences = Set(incidents.map(\.sentence))
    let said = "Isolated work trapped: Shop.swift:12: Fatal error: the shelf is empty"
    #expect(sentences == [said, "Isolated work trapped."])
  }

  @Test("an incident of a contained request names its request, or has the request's number if it is not found")
  func contained() async throws {
    let daemon = try TestDaemon(TestDirectory())
    var ring = TestRing()
    ring.addRequest(0, number: 7, operation: "GET /cart", started_ns: 1_700_000_001_000_000_000)
    ring.trapRequest(0)
    for (index, number) in [Int64(7), 8].enumerated() {
      ring.addIncident(
        index, key: UInt64(2 * index + 1), subject: "Fatal error: sold out", count: 1, mode: 0, source: 4)
      ring.makeRequestTrap(index, number: number)
    }
    _ = await daemon.analysis.observe(try Self.attached(ring), seen: [:])
    let incidents = try daemon.store.incidents(limit: 10).sorted { $0.sentence > $1.sentence }
    #expect(incidents.count == 2 && incidents.allSatisfy { $0.source == "isolated" && $0.kind == .requestTrap })
    let named = try #require(incidents.first)
    #expect(named.sentence == "Request GET /cart trapped: Fatal error: sold out")
    #expect(named.request?.number == 7 && named.request?.operation == "GET /cart")
    // The time of the incident is before the boot of the machine, so crashd uses the time of reading.
    #expect(named.request.map { $0.age_ns > 1_000_000_000 } == true)
    #expect(incidents.last?.sentence == "Request 8 trapped: Fatal error: sold out" && incidents.last?.request == nil)
    #expect(try daemon.store.incidents(.init(route: "GET /cart"), limit: 10).map(\.id) == [named.id])
    #expect(try daemon.store.incidents(.init(route: "GET"), limit: 10).isEmpty)
  }

  @Test("the incident of a contained trap has its registers by name")
  func registers() async throws {
    let daemon = try TestDaemon(TestDirectory())
    var ring = TestRing()
    ring.addIncident(0, key: 1, subject: "", count: 1, mode: 0, source: 4)
    ring.makeTrap(0, registers: 16, flags: 0x246)
    _ = await daemon.analysis.observe(try Self.attached(ring), seen: [:])
    let incident = try #require(try daemon.store.incidents(limit: 1).first)
    let registers = try #require(incident.registers)
    #expect(registers.count == 18 && registers["rip"] == incident.use.first?.address && registers["rflags"] == 0x246)
    #expect(registers["rax"] == 0x100 && registers["rdx"] == 0x101 && registers["rcx"] == 0x102)
    #expect(registers["rsp"] == 0x107 && registers["r15"] == 0x10f)
  }

  @Test("an executor check's stack starts at the program's call, not in the runtime")
  func checkFrames() {
    func frame(_ function: String, _ mangled: String = "") -> CrashReport.Frame {
      CrashReport.Frame(address: Address(1), function: function, mangled: mangled, trust: .framePointer)
    }
    let hook = [frame("cs_quarantine_here"), frame("record", "$s11CrashShield6GuardsO"), frame("check")]
    let runtime = [
      frame("swift_task_isCurrentExecutorWithFlags"),
      frame("preconditionIsolated", "$sScAsE20preconditionIsolated_4file4lineySSyXK_s12StaticStringVSutFTm"),
      frame("preconditionIsolated", "$ss11GlobalActorPsE20preconditionIsolated_4file4lineySSyXK_s12StaticStringVSutFZ"),
    ]
    let program = [frame("draw", "$s4shop4drawyyF"), frame("main")]
    #expect(GuardIncident.behindCheck(hook + runtime + program).map(\.function) == ["draw", "main"])
    #expect(GuardIncident.behindCheck(hook + program).map(\.function) == ["check", "draw", "main"])
  }

  @Test("crashd has a name for every kind of guard", arguments: ShieldKind.allCases)
  func guardNames(kind: ShieldKind) {
    #expect(GuardIncident.name(of: UInt32(kind.rawValue)) == kind.name)
    #expect(GuardIncident.name(of: 0) == "0" && GuardIncident.name(of: .max) == "\(UInt32.max)")
  }

  @Test(
    "a crash in a guard slot is certain; its report has the stacks of release and allocation",
    arguments: [
      (UInt32(2), "dangling", "App.Session was written 2 ms after it was freed by thread 13, 16 bytes into it"),
      (6, "heap-corruption", "Memory 16 bytes before the start of App.Session was used"),
    ])
  func announced(kind: UInt32, cause: CrashReport.Cause, sentence: String) throws {
    var ring = TestRing()
    ring.addImage(0)
    ring.addIncident(0, key: 1, subject: "App.Session", count: 1, mode: 4)
    ring.makePageIncident(0, kind: kind, amount: 16, method: 0x10010)
    // The incident explains the crash, because it has the same thread and the same address.
    ring.setUseThread(0, 4712)
    ring.addCrash(signal: SIGSEGV)
    let process = try Self.attached(ring)
    let contents = process.ring.mapping.contents()
    let builder = ReportBuilder(contents, process: process.facts, symbols: OpenCaches())
    let report = try #require(builder.report(id: ring.id))
    #expect(report.diagnosis.cause == cause && report.diagnosis.confidence == 1)
    #expect(report.diagnosis.className == (cause == "dangling" ? "App.Session" : nil))
    #expect(report.diagnosis.rule.hasPrefix("guard-slot-") && report.diagnosis.sentence.hasPrefix(sentence))
    let object = try #require(report.guardedObject)
    #expect(object.className == "App.Session" && object.releaseThread == 13 && object.age_ns == 2_000_000)
    #expect(object.release.map(\.address) == [0x40_0030] && object.allocation.map(\.address) == [0x40_0040])
    #expect(TextRenderer().render(report).contains("freed by thread 13\n    0x400030"))

    // An incident does not explain the crash of another thread, even at the same address.
    ring.setUseThread(0, 4713)
    let other = try Self.attached(ring)
    let plain = ReportBuilder(other.ring.mapping.contents(), process: other.facts, symbols: OpenCaches())
    let another = try #require(plain.report(id: ring.id))
    #expect(another.guardedObject == nil && !another.diagnosis.rule.hasPrefix("guard-slot"))
  }

  @Test("incidents can be filtered by id prefix, source, program name and user")
  func found() async throws {
    let daemon = try TestDaemon(TestDirectory())
    var ring = TestRing()
    ring.addIncident(0, key: 1, subject: "App.Session", count: 1, mode: 1)
    ring.addIncident(1, key: 2, subject: "array index", count: 1, mode: 3, source: 2)
    _ = await daemon.analysis.observe(try Self.attached(ring), seen: [:])
    let store = daemon.store
    #expect(try store.incidents(limit: 10).count == 2 && store.incidents(limit: 1).count == 1)
    #expect(try store.incidents(.init(source: "guard"), limit: 10).map(\.subject) == ["array index"])
    #expect(try store.incidents(.init(source: "guard"), limit: 10).map(\.sentence) == ["Array index."])
    #expect(try store.incidents(.init(id: ring.id.prefix(16) + "-0000000000000001"), limit: 10).count == 1)
    #expect(try store.incidents(.init(id: "zz"), limit: 10).isEmpty)
    #expect(try store.incidents(.init(name: "no such name"), limit: 10).isEmpty)
    #expect(try store.incidents(visibility: .user(geteuid() &+ 1), limit: 10).isEmpty)
  }

  @Test("incidents can be filtered by kind, by a part of their call site, and by last occurrence")
  func foundInReports() async throws {
    let daemon = try await Self.daemonWithGuards()
    let store = daemon.store
    #expect(try store.incidents(.init(kind: "index"), limit: 10).map(\.count) == [3])
    #expect(try store.incidents(.init(kind: "nothing"), limit: 10).isEmpty)
    #expect(try store.incidents(.init(site: "Till.swift"), limit: 10).map(\.kind) == ["range"])
    let last = try #require(try store.incidents(limit: 1).first?.last)
    #expect(try store.incidents(.init(since: last), limit: 10).count >= 1)
    #expect(try store.incidents(.init(since: "9999-01-01T00:00:00.000000000Z"), limit: 10).isEmpty)
  }

  @Test("incident counts are summed by kind, call site and name, most frequent first, without overflow")
  func sums() async throws {
    let daemon = try await Self.daemonWithGuards()
    let store = daemon.store
    let kinds = try store.topIncidents(by: .kind, limit: 10)
    #expect(kinds.map(\.kind) == ["call", "range", "index"] && kinds.map(\.count) == [.max, 4, 3])
    #expect(kinds.map(\.source) == ["quarantine", "guard", "guard"] && kinds.allSatisfy { $0.processes == 1 })
    #expect(kinds.map(\.incidents) == [2, 1, 1] && kinds.allSatisfy { $0.place.isEmpty && $0.name.isEmpty })
    let sites = try store.topIncidents(by: .site, IncidentFilter(source: "guard"), limit: 1)
    #expect(sites.map(\.place) == ["Shop/Till.swift:12"] && sites.map(\.count) == [4])
    #expect(try store.topIncidents(by: .site, limit: 1).map(\.place) == ["App.Session"])
    let names = try store.topIncidents(by: .name, limit: 10)
    #expect(names.count == 1 && names[0].incidents == 4 && names[0].kind == "")
    #expect(try store.topIncidents(by: .name, visibility: .user(geteuid() &+ 1), limit: 10).isEmpty)
  }

  /// Runs a daemon with incidents of two guards.
  ///
  /// The counts of the last two incidents are so large that their sum exceeds `Int.max`.
  private static func daemonWithGuards() async throws -> TestDaemon {
    let daemon = try TestDaemon(TestDirectory())
    var ring = TestRing()
    ring.addIncident(0, key: 1, subject: "Shop/Cart.swift: 7 is outside", count: 3, mode: 0, source: 2)
    ring.addIncident(1, key: 3, subject: "Shop/Till.swift: 8 is outside", count: 4, mode: 0, source: 2)
    ring.setKind(1, 2)
    for index in 0..<2 {
      ring.setWord(index, 12)
      ring.addIncident(
        index + 2, key: UInt64(index) * 2 + 5, subject: "App.Session", count: UInt64(Int.max), mode: 1)
    }
    _ = await daemon.analysis.observe(try attached(ring), seen: [:])
    return daemon
  }

  #if arch(x86_64)
    @Test("a fault through the poison value in a field of a freed object is certain, and names the class")
    func poison() throws {
      let record = (UInt32(5) << 12) | 1
      let poison = 0xEFED << 48 | UInt64(record) << 16 | 0x8003
      // The instruction is call [rax+0x38], with a non-canonical address.
      var crash = CrashRecord.sample(
        code: 128, address: 0, pc: 0x10010, errorCode: 0, instruction: [0xff, 0x50, 0x38])
      crash.registers[0] = poison
      var ring = TestRing()
      ring.addClass(0, "App.Other", admitted: 1)
      ring.addClass(1, "App.Session", admitted: 1)
      let classes = try Self.attached(ring).ring.mapping.observations().classes
      var facts = CrashFacts(record: crash, pid: 99)
      #expect(DiagnosisRule.diagnose(facts, at: nil).cause != "dangling")
      facts.protectedClasses = classes
      let diagnosis = DiagnosisRule.diagnose(facts, at: nil)
      #expect(diagnosis.rule == "dangling-poison" && diagnosis.cause == "dangling" && diagnosis.confidence == 1)
      #expect(diagnosis.sentence == "Use-after-free: a freed App.Session was used.")
      #expect(diagnosis.evidence?.contains("\(record)") == true)
      facts.record.registers[0] = poison - 0x100
      #expect(DiagnosisRule.diagnose(facts, at: nil).rule == "dangling-poison")
      // The poison value contains the number of the class record. With these offsets, the addition carries into this
      // number, which then names another class or none.
      for offset in [0x7FFD, -0x8004] {
        facts.record.registers[0] = UInt64(bitPattern: Int64(bitPattern: poison) + Int64(offset))
        #expect(DiagnosisRule.diagnose(facts, at: nil).rule != "dangling-poison")
      }
      // In this poison value, the number of the class record belongs to a class that is not protected.
      facts.record.registers[0] = 0xEFED << 48 | UInt64(5 << 12 | 7) << 16 | 0x8000
      #expect(DiagnosisRule.diagnose(facts, at: nil).rule != "dangling-poison")
    }
  #endif
}
