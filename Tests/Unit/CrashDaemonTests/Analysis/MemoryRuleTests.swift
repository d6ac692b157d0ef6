import CShimRing
import CrashProtocol
import CrashReport
@testable import CrashRing
import CrashStore
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Rules for processes without memory capture")
struct MemoryRuleTests {
  private static func facts(
    executable: String = "/usr/bin/payments", name: String = "shop", user: UInt32 = 7, unit: String? = nil,
    startTime: UInt64? = 1
  ) -> ProcessFacts {
    let identity = RingContents.Identity(
      ringID: "", pid: 1, uid: user, startTime_ns: 0, name: name, executable: executable)
    return ProcessFacts(
      peer: Peer(pid: 1, uid: user), identity: identity, buildID: "", unit: unit, memory: nil, startTime: startTime,
      image: nil)
  }

  private static func rule(_ change: (inout MemoryRule) -> Void) -> MemoryRule {
    var rule = MemoryRule()
    change(&rule)
    return rule
  }

  @Test(
    "a glob matches a whole string: a star matches any characters, a question mark matches one byte",
    arguments: [
      ("/usr/bin/pay*", "/usr/bin/payments", true), ("*", "", true), ("*ments", "/usr/bin/payments", true),
      ("/usr/*/pay*s", "/usr/bin/payments", true), ("*a*b*c*", "xaxbxbcx", true), ("a?c", "abc", true),
      ("/usr/bin/pay", "/usr/bin/payments", false), ("payments", "/usr/bin/payments", false), ("a?c", "ac", false),
      ("*a*b", "ab-", false), ("", "a", false), ("", "", true), ("**", "a", true), ("a*", "ba", false),
    ])
  func patterns(pattern: String, text: String, matches: Bool) {
    #expect(Glob.matches(pattern, text) == matches)
  }

  @Test("a glob pattern with many stars is matched in bounded time")
  func manyStars() {
    let text = String(repeating: "a", count: 320)
    #expect(!Glob.matches(String(repeating: "*a", count: 100) + "b", text))
  }

  @Test("a no-memory rule applies to processes that meet all its conditions; an empty rule applies to none")
  func holds() {
    let facts = Self.facts(unit: "shop.service")
    #expect(!MemoryRule().holds(for: facts))
    #expect(Self.rule { $0.executable = "*/payments" }.holds(for: facts))
    #expect(Self.rule { ($0.executable, $0.user) = ("*/payments", 7) }.holds(for: facts))
    #expect(!Self.rule { ($0.executable, $0.user) = ("*/payments", 8) }.holds(for: facts))
    #expect(Self.rule { $0.name = "sh?p" }.holds(for: facts))
    #expect(!Self.rule { $0.name = "sho" }.holds(for: facts))
    #expect(Self.rule { $0.unit = "shop.service" }.holds(for: facts))
    #expect(!Self.rule { $0.unit = "other.service" }.holds(for: facts))
    #expect([Self.rule { $0.user = 8 }, Self.rule { $0.user = 7 }].hold(for: facts))
    #expect(![MemoryRule]().hold(for: facts))
  }

  @Test("a rule for a unit matches a process whose unit is unknown, but not a process outside of units")
  func unknownUnit() {
    let rule = Self.rule { $0.unit = "shop.service" }
    #expect(!rule.holds(for: Self.facts(unit: nil)))
    #expect(rule.holds(for: Self.facts(unit: nil, startTime: nil)))
    #expect(!rule.holds(for: Self.facts(unit: "other.service", startTime: nil)))
  }

  /// Returns the bytes that crashd stores for a ring, with or without a no-memory rule, and the contents that it reads
  /// from these bytes.
  private static func stored(_ ring: TestRing, withoutMemory: Bool) throws -> (bytes: [UInt8], contents: RingContents) {
    let memory = try ring.memory()
    let excerpt = try RingExcerpt.read(descriptor: memory.number, withoutMemory: withoutMemory)
    let bytes = try #require(RingExcerpt.unpack(excerpt))
    let process = try #require(Reanalysis.process(ofOrphan: excerpt))
    return (bytes, process.ring.contents())
  }

  private static let secret = Array("orchid-4711-tulip".utf8)

  private static func ring() -> TestRing {
    var ring = TestRing()
    ring.setMemory(mode: 2, heapKey: 0x4711)
    ring.addImage(0)
    ring.addCrash(stack: secret + [UInt8](repeating: 1, count: 64), memory: secret)
    return ring
  }

  @Test("a no-memory rule removes all memory from the stored ring, and changes no other data")
  func excerpt() throws {
    let ring = Self.ring()
    let before = try Self.stored(ring, withoutMemory: false)
    #expect(before.bytes == ring.bytes && before.bytes.contains(bytes: Self.secret))
    #expect(before.contents.records.map(\.stack.count) == [Self.secret.count + 64])
    #expect(before.contents.memory.mode == .full && before.contents.memory.heapKey == 0x4711)
    #expect(before.contents.records.first?.memory.count == 1)

    let after = try Self.stored(ring, withoutMemory: true)
    #expect(!after.bytes.contains(bytes: Self.secret))
    #expect(after.contents.losses.isEmpty)
    // The contents under the rule must be the contents without the rule, minus their memory.
    var expected = before.contents
    expected.withholdMemory()
    #expect(after.contents.records == expected.records && after.contents.memory == expected.memory)
    let record = try #require(after.contents.records.first)
    #expect(record.stack.isEmpty && record.memory.isEmpty && record.stackStart == 0x7fff_0000)
    #expect(record.frames == before.contents.records.first?.frames)
    #expect(record.registers == before.contents.records.first?.registers)
    #expect(after.contents.memory == RingContents.MemoryFacts(mode: .withheld))
  }

  @Test("a no-memory rule does not repair a damaged record, and does not complete an unfinished record")
  func damaged() throws {
    var ring = Self.ring()
    ring.addCrash(slot: 1, stack: Self.secret)
    ring.damage(slot: 1)
    ring.addCrash(slot: 2, stack: Self.secret)
    ring.claim(2)
    let after = try Self.stored(ring, withoutMemory: true)
    #expect(after.contents.losses == ["corrupt": 1, "torn": 1] && after.contents.records.count == 1)
    #expect(!after.bytes.contains(bytes: Self.secret))
  }

  @Test("a no-memory rule also removes an earlier crash's memory from a slot")
  func leftovers() throws {
    var ring = Self.ring()
    ring.addCrash(stack: [1, 2, 3])
    #expect(ring.bytes.contains(bytes: Self.secret.suffix(8)))
    #expect(try !Self.stored(ring, withoutMemory: true).bytes.contains(bytes: Self.secret.suffix(8)))
  }

  @Test("a no-memory rule removes the bytes at pc unless they are code")
  func instruction() throws {
    for (address, count) in [(UInt64(0x10010), 0), (0x20, 16)] {
      var ring = Self.ring()
      ring.addCrash(signal: SIGSEGV, address: address, instruction: Array(Self.secret.prefix(16)))
      let (bytes, contents) = try Self.stored(ring, withoutMemory: true)
      #expect(contents.records.map(\.instruction.count) == [count] && contents.losses.isEmpty)
      #expect(bytes.contains(bytes: Self.secret.prefix(16)) == (count > 0))
    }
  }

  @Test("if a program itself disables memory capture, the stored ring says so, even under a no-memory rule")
  func ownChoice() throws {
    var ring = TestRing()
    ring.addCrash()
    #expect(try Self.stored(ring, withoutMemory: true).contents.memory.mode == .none)
  }

  /// The no-memory rule of the daemon.
  ///
  /// It matches the process of a `TestRing`.
  private static let rules = [rule { $0.executable = "/srv/*" }]

  @Test("under a no-memory rule, no memory of a spooled ring is stored, and the report names the rule's source")
  func spooled() async throws {
    for (rules, omitted) in [(Self.rules, CrashReport.MemoryOmission.operator), ([], nil)] {
      let ring = Self.ring()
      try await TestDaemon.run(
        prepare: { try SpoolTests.leave(ring, in: $0.spool) }, configure: { $0.settings.noMemory = rules }
      ) { daemon in
        let client = try await daemon.client()
        try await client.untilReports(1)
        let report = try daemon.store.report(idPrefix: ring.id).report
        #expect(report.memoryOmitted == omitted)
        let raw = try #require(try daemon.store.raw(id: ring.id))
        #expect(raw.contains(bytes: Self.secret) == (omitted == nil))
        let reply = try await client.call("io.crashshield.Crashd.Reanalyse")
        #expect(reply["changed"] == .bool(false))
        #expect(reply.object("report").string("memoryOmitted") == omitted?.rawValue)
        #expect(try daemon.store.raw(id: ring.id) == raw)
      }
    }
  }

  @Test("a process gets its no-memory rule with the attach reply; whatever it answers, crashd stores no memory")
  func attached() async throws {
    try await TestDaemon.run(configure: { $0.settings.noMemory = Self.rules }) { daemon in
      let ring = Self.ring()
      let process = try await daemon.attach()
      let socket = process.socket
      #expect(try await process.attach(ring.memory()) == .accepted)
      let kinds = try await onThread { [try Self.kind(socket.receive()), try Self.kind(socket.receive())] }
      #expect(kinds == [cs_control_kind.CS_CONTROL_WITHHOLD.rawValue, cs_control_kind.CS_CONTROL_SWEEP.rawValue])
      let client = try await daemon.client()
      _ = try await client.awaitProcess()
      let processes = try await client.call("io.crashshield.Crashd.Processes").array("processes")
      guard case .object(let first) = try #require(processes.first) else { return }
      // The process in this test has not applied the rule, so crashd discards the memory.
      #expect(first.string("memory") == "discarded")
      let raw = try #require(try daemon.store.raw(id: ring.id))
      #expect(!raw.contains(bytes: Self.secret))
    }
  }

  private static func kind(_ message: [UInt8]) throws -> UInt32 {
    try #require(message.count >= MemoryLayout<cs_control_header>.size)
    // Invariant: the message has at least as many bytes as the structure, and every bit pattern is a valid value of the
    // structure.
    return unsafe message.withUnsafeBytes { unsafe $0.loadUnaligned(as: cs_control_header.self) }.kind
  }
}
