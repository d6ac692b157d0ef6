import CrashProtocol
import CrashRing
import CrashStore
import DanglingStatistics
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Incidents in the statistics of use-after-frees")
struct DanglingUseTests {
  /// Lets the protection policy read the ring of a process, and calls `body` with the policy and the program's key.
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
    // This use of `daemon` also keeps the store open until `body` has returned.
    #expect(try daemon.store.danglingStates().count == 1)
  }

  @Test("use-after-frees in guard pages count as hits of their class, without a measured delay")
  func slots() async throws {
    try await Self.seen { ring in
      for (index, kind) in (1...7 as ClosedRange<UInt32>).enumerated() {
        ring.addIncident(index, key: UInt64(kind), subject: "App.Session", count: 1, mode: 0)
        ring.makePageIncident(index, kind: kind, amount: 16)
      }
      // The mode of this incident means that a crash follows; the policy counts it, too.
      ring.addIncident(7, key: 8, subject: "App.Session", count: 1, mode: 4)
      ring.makePageIncident(7, kind: 1, amount: 16, method: 0x10010)
      // The memory of this incident has no class, so the incident is not a hit (a detected access) of a class.
      ring.addIncident(8, key: 9, subject: "", count: 1, mode: 0)
      ring.makePageIncident(8, kind: 1, amount: 16)
    } _: { policy, key in
      let statistics = try #require(await policy.services[key]?.book.all.first)
      #expect(statistics.className == "App.Session" && statistics.hits == [.access: 2, .release: 1])
      #expect(statistics.delays.total.seen == 0)
      let view = try #require(await policy.reports([key]).first)
      #expect(view.days.map(\.hits) == [3])
      // These hits make the class a suspect, as hits in the quarantine do. With automatic protection, the policy
      // therefore protects it.
      await policy.change([key], RuleChange(allowsAutomaticProtection: true))
      #expect(await policy.board.plan(of: key)?.words.map(\.name) == ["App.Session"])
    }
  }

  @Test("resolving a handle to a deallocated object is not counted as a use-after-free of the object's class")
  func handles() async throws {
    try await Self.seen { ring in
      ring.addIncident(0, key: 1, subject: "App.Session", count: 3, mode: 0)
      ring.setKind(0, 6)
    } _: { policy, key in
      let found = try #require(await policy.summaries([key]).first?.summary)
      #expect(found.className == "App.Session" && found.handleMisses == 1 && found.hits == 0 && found.groups == 0)
      #expect(try #require(await policy.reports([key]).first).days.map(\.hits) == [1])
      await policy.change([key], RuleChange(allowsAutomaticProtection: true))
      #expect(await policy.board.plan(of: key) == nil)
    }
  }

  @Test("a write that an audit detects at eviction has no delay, because its time is unknown")
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
