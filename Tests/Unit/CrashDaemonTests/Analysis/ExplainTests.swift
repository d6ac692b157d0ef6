import CrashProtocol
import CrashReport
import CrashRing
import CrashStore
import Glibc
import LinuxSystem
import Testing

@testable import CrashDaemon

@Suite("Explain")
struct ExplainTests {
  private static let method = "io.crashshield.Crashd.Explain"

  @Test("Explain lists every rule in order with its evidence; the first rule that applies makes the diagnosis")
  func rules() async throws {
    var ring = TestRing()
    ring.addImage(0)
    ring.addCrash()
    let left = ring
    try await TestDaemon.run(prepare: { try SpoolTests.leave(left, in: $0.spool) }) { daemon in
      let client = try await daemon.client()
      try await client.untilReports(1)
      let before = try daemon.store.newestCursor()
      let reply = try await client.call(Self.method, ["id": .string(String(left.id.prefix(8)))])
      let report = try daemon.store.report(idPrefix: nil).report
      #expect(reply.string("id") == report.id)
      #expect(reply.string("sentence") == report.diagnosis.sentence)
      let rules = reply.array("rules").compactMap { rule -> [String: JSONValue]? in
        if case .object(let value) = rule { value } else { nil }
      }
      #expect(rules.compactMap { $0.string("rule") } == DiagnosisRule.all.map(\.name))
      #expect(rules.allSatisfy { !$0.array("saw").isEmpty })
      let chosen = rules.filter { $0["isChosen"] == .bool(true) }
      #expect(chosen.compactMap { $0.string("rule") } == [report.diagnosis.rule])
      #expect(chosen.first?.array("saw").contains { "\($0)".contains("sold out") } == true)
      #expect(try daemon.store.newestCursor() == before)
    }
  }

  @Test("Explain lists other rules for an unreported exit, which stays one after a repeated analysis")
  func silent() async throws {
    let ring = TestRing()
    try await TestDaemon.run { daemon in
      let source = try RingSource(memory: ring.memory())
      let facts = ProcessFacts(source.mapping.contents(), peer: Peer(pid: 4711, uid: geteuid()), unit: nil)
      let process = AttachedProcess(number: 4, facts: facts, ring: source)
      let death = try #require(
        SilentDeath(EndedProcess(process: process, end: .status(SIGKILL), memory: .none(in: "/app")), losses: [:]))
      let builder = ReportBuilder(source.mapping.contents(), process: facts, symbols: OpenCaches())
      let report = try #require(
        builder.report(id: ring.id, of: death, at: Moment(nanoseconds: 1_700_000_000_000_000_000)))
      _ = try daemon.store.put(report, raw: RingExcerpt.read(descriptor: source.descriptor.number))
      let client = try await daemon.client()
      let reply = try await client.call(Self.method)
      let chosen = reply.array("rules").filter { "\($0)".contains("silent-kill") }
      #expect(chosen.count == 1)
      #expect(reply.string("sentence") == "Killed (SIGKILL from outside).")
      let again = try await client.call("io.crashshield.Crashd.Reanalyse")
      #expect(again["changed"] == .bool(false))
      #expect(try daemon.store.report(idPrefix: nil).report == report)
    }
  }

  @Test("Explain of a report without a raw record returns the reason why it cannot explain")
  func unreadable() async throws {
    try await TestDaemon.run { daemon in
      _ = try daemon.store.put(.sample(id: "aa"), raw: [])
      let client = try await daemon.client()
      try await client.send(Self.method, ["id": .string("aa")])
      #expect(try await client.reply().string("error") == "io.crashshield.Crashd.NotReanalysable")
    }
  }

  @Test("rules that read hostile records return the hostile bytes as clean lines")
  func hostile() {
    let text = "a\u{1b}[31m\nb\u{202e}"
    let facts = CrashFacts(
      record: .sample(signal: SIGABRT, code: -6, message: text, abortMessage: text, exceptionType: text), pid: 1)
    for rule in DiagnosisRule.explain(facts) {
      for line in rule.saw + [rule.sentence ?? ""] {
        #expect(!line.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202e }, "\(rule.rule)")
      }
    }
  }
}
