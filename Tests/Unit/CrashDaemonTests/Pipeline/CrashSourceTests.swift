import CrashRing
import CrashStore
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

struct CrashSourceTests {
  private func process() throws -> AttachedProcess {
    var ring = TestRing()
    ring.addImage(0)
    ring.addCrash()
    let source = try RingSource(memory: ring.memory())
    let facts = ProcessFacts(source.contents(), peer: Peer(pid: 4711, uid: geteuid()), unit: nil)
    return AttachedProcess(number: 4, facts: facts, ring: source)
  }

  @Test("losses in an attached ring are counted when the ring is read, and losses in a spool file when it is stored")
  func losses() throws {
    let process = try process()
    let ledger = Ledger(logger: TestLog.logger, limits: Limits())
    let (ring, file) = (AttachedRing(process: process, seen: nil, isFinal: true), SpooledFile(process: process))
    ring.count(["a": 1], isSettled: false, in: ledger)
    ring.count(["a": 1], isSettled: true, in: ledger)
    file.count(["b": 1], isSettled: false, in: ledger)
    #expect(ledger.losses == ["a": 1])
    file.count(["b": 1], isSettled: true, in: ledger)
    #expect(ledger.losses == ["a": 1, "b": 1])
  }

  @Test("a report that the store cannot accept is buffered in memory, unless its spool file still exists")
  func outage() throws {
    let process = try process()
    let outage = StoreOutage(limits: Limits())
    let error = StoreError.unavailable(path: "/x", reason: "full")
    let held = StoreOutage.Held(
      report: try .sample(id: "aa"), raw: [1], owner: process.facts.peer, process: "shop")
    let (ring, file) = (AttachedRing(process: process, seen: nil, isFinal: true), SpooledFile(process: process))
    #expect(!file.hold(held, in: outage, because: error) && outage.count == 0)
    #expect(file.outcome(of: error) == .unanswered(error))
    #expect(ring.hold(held, in: outage, because: error) && outage.count == 1)
    #expect(ring.outcome(of: error) == nil && file.outcome(of: .identifierTaken(id: "aa")) == nil)
  }

  @Test("a snapshot contains the parts of a ring that are new since the previous reading")
  func snapshot() throws {
    let daemon = try TestDaemon(TestDirectory())
    let process = try process()
    let first = AttachedRing(process: process, seen: nil, isFinal: true)
    guard case .news(let snapshot) = daemon.analysis.takeSnapshot(of: first) else {
      Issue.record("nothing is new")
      return
    }
    #expect(snapshot.contents.records.count == 1 && !snapshot.isConsistent && !snapshot.hasIncidents)
    let next = AttachedRing(process: process, seen: snapshot.seen, isFinal: true)
    guard case .nothingNew(hasIncidents: false) = daemon.analysis.takeSnapshot(of: next) else {
      Issue.record("something is new")
      return
    }
  }
}
