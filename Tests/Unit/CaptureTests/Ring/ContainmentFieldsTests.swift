import CShimRing
import CrashReport
@testable import CrashRing
import Glibc
import TestKit
import Testing

@Suite("Containment in a ring")
struct ContainmentFieldsTests {
  @Test("the mode, the obstacle, the counts and the drain are read from the header")
  func header() throws {
    let ring = TestRing()
    #expect(try ring.contents().containment == nil)
    ring.setContainment(2, obstacle: 7, budget: 20, count: 5)
    let before = try #require(try ring.contents().containment)
    #expect(before == RingContents.Containment(mode: .contain, obstacle: "hook", budget: 20, contained: 5, drain: nil))
    ring.setContainment(1)
    ring.setDrain(0)
    let underWay = try #require(try ring.contents().containment)
    #expect(underWay.mode == .drain && underWay.obstacle == nil)
    #expect(underWay.drain == RingContents.Drain(end: nil, begin_ns: 1_000) && underWay.drain?.duration_ns == nil)
    ring.setDrain(1, finished: 50, lost: 2, end_ns: 4_000)
    let drain = try #require(try ring.contents().containment?.drain)
    #expect(drain.end == .done && drain.finished == 50 && drain.lost == 2 && drain.duration_ns == 3_000)
    ring.setContainment(0)
    #expect(try ring.contents().containment == nil)
  }

  @Test("hostile values in fields about containment affect no other field of the ring")
  func hostile() throws {
    let ring = TestRing()
    ring.addRecord(slot: 0, message: "message")
    ring.setContainment(.max, obstacle: .max, budget: .max, count: .max)
    ring.setDrain(.max, finished: .max, lost: .max, begin_ns: .max, end_ns: 1)
    let contents = try ring.contents()
    let containment = try #require(contents.containment)
    #expect(containment.mode == "4294967295" && containment.obstacle == "4294967295")
    #expect(containment.budget == .max && containment.contained == .max)
    let drain = try #require(containment.drain)
    #expect(drain.end == "4294967295" && drain.finished == .max && drain.duration_ns == nil)
    #expect(contents.records.map(\.message) == ["message"] && contents.losses.isEmpty)
  }

  @Test("a ring of an earlier version is read without fields about containment")
  func earlier() throws {
    let ring = TestRing(.earlier)
    ring.setContainment(2, budget: 20)
    ring.setDrain(1)
    #expect(try ring.contents().containment == nil)
  }

  @Test("a record has the verdict of the handler and its reason")
  func record() throws {
    let ring = TestRing()
    ring.addRecord(slot: 0, message: "message")
    let none = try #require(try ring.contents().records.first)
    #expect(none.verdict == nil && none.verdictReason == nil)
    let verdicts: [(UInt16, CrashReport.Containment.Verdict?)] = [
      (1, .contain), (2, .drain), (3, .die), (4, "4"), (.max, "65535"), (0, nil),
    ]
    for (number, verdict) in verdicts {
      ring.set(\cs_ring_record.verdict, at: TestRing.record(0), number)
      ring.set(\cs_ring_record.verdict_reason, at: TestRing.record(0), 8)
      ring.commit(slot: 0)
      let record = try #require(try ring.contents().records.first)
      #expect(record.verdict == verdict && record.verdictReason == "actor")
    }
  }

  @Test("every reason and every obstacle of the ring has its word and its sentence")
  func words() {
    typealias Reason = CrashReport.Containment.Reason
    let reasons: [(cs_ring_verdict_reason, Reason)] = [
      (.CS_RING_VERDICT_REASON_BUDGET, "budget"), (.CS_RING_VERDICT_REASON_DEEP, "deepStack"),
      (.CS_RING_VERDICT_REASON_UNKNOWN, "unknownFrames"), (.CS_RING_VERDICT_REASON_LIBC, "libc"),
      (.CS_RING_VERDICT_REASON_DISPATCH, "dispatch"), (.CS_RING_VERDICT_REASON_GLOBAL, "lazyGlobal"),
      (.CS_RING_VERDICT_REASON_CONCURRENCY, "concurrency"), (.CS_RING_VERDICT_REASON_ACTOR, "actor"),
      (.CS_RING_VERDICT_REASON_STREAM, "stream"), (.CS_RING_VERDICT_REASON_TASK, "noTask"),
      (.CS_RING_VERDICT_REASON_REQUEST, "noRequest"), (.CS_RING_VERDICT_REASON_NOT_TRAP, "notTrap"),
      (.CS_RING_VERDICT_REASON_FOREIGN, "foreignCode"), (.CS_RING_VERDICT_REASON_CHILD, "forkedChild"),
      (.CS_RING_VERDICT_REASON_SENT, "sent"), (.CS_RING_VERDICT_REASON_SHIELD, "shieldLock"),
      (.CS_RING_VERDICT_REASON_CORRUPT, "corrupt"), (.CS_RING_VERDICT_REASON_REPLACED, "replaced"),
      (.CS_RING_VERDICT_REASON_RUNTIME, "runtime"), (.CS_RING_VERDICT_REASON_FULL, "ringFull"),
      (.CS_RING_VERDICT_REASON_REPEATED, "repeated"), (.CS_RING_VERDICT_REASON_WAITS, "waits"),
      (.CS_RING_VERDICT_REASON_DRAINING, "draining"), (.CS_RING_VERDICT_REASON_UNAVAILABLE, "unavailable"),
      (.CS_RING_VERDICT_REASON_LOOP, "eventLoop"),
    ]
    for (code, reason) in reasons { #expect(Reason(number: Int(code.rawValue)) == reason) }
    #expect(reasons.count == Reason.all.count && Reason(number: 0) == nil && Reason(number: 26) == "26")
    #expect(Reason("26").clause == "the handler gave the reason 26")
    typealias Obstacle = CrashReport.Containment.Obstacle
    let obstacles: [(cs_ring_obstacle, Obstacle)] = [
      (.CS_RING_OBSTACLE_IMAGES, "images"), (.CS_RING_OBSTACLE_RUNTIME, "runtime"),
      (.CS_RING_OBSTACLE_LOOKUP, "lookup"), (.CS_RING_OBSTACLE_RUNNER, "runner"),
      (.CS_RING_OBSTACLE_EXECUTOR, "executor"), (.CS_RING_OBSTACLE_THREADS, "threads"),
      (.CS_RING_OBSTACLE_HOOK, "hook"), (.CS_RING_OBSTACLE_VERSION, "version"),
      (.CS_RING_OBSTACLE_CORES, "cores"),
    ]
    for (code, obstacle) in obstacles { #expect(Obstacle(number: Int(code.rawValue)) == obstacle) }
    #expect(obstacles.count == Obstacle.all.count && Obstacle(number: 0) == nil && Obstacle(number: -1) == "-1")
    #expect(Obstacle("10").clause == "the process gave the reason 10" && Obstacle("10").remedy == nil)
  }

  @Test("trapped requests are not in flight, and requests are found by their numbers")
  func trapped() throws {
    let file = try TestFile.memory()
    defer { file.close() }
    let ring = TestRing()
    ring.addRequest(at: TestRing.request(0), number: 3, started_ns: 2_000, operation: "GET /late", state: 0x103)
    ring.addRequest(at: TestRing.request(1), number: 1, started_ns: 1_000, operation: "GET /early", state: 0x203)
    ring.addRequest(2, number: 2)
    ring.addRequest(at: TestRing.request(3), number: 0, state: 0x103)
    ring.useRequests(4)
    try file.write(ring)
    try file.seal()
    let mapping = try RingMapping(descriptor: file.descriptor)
    let contents = mapping.contents(usedBy: file.descriptor)
    #expect(contents.requests.running.map(\.number) == [2] && contents.requests.trapped.map(\.number) == [1, 3])
    #expect(contents.losses == ["requests": 1])
    #expect(mapping.requests(numbered: [3, 9], usedBy: file.descriptor).map(\.operation) == ["GET /late"])
    #expect(mapping.requests(numbered: [2]).map(\.number) == [2] && mapping.requests(numbered: []).isEmpty)
    #expect(mapping.requests(numbered: [1, 3]).count == 2)
  }

  @Test("only an incident of a contained request has the number of a request", arguments: [Int64(7), 0, -1])
  func incident(amount: Int64) throws {
    let ring = TestRing()
    for (index, kind) in [UInt32(1), 2, 3].enumerated() {
      ring.addIncident(index, key: UInt64(index + 1), subject: "", first_ns: UInt64(index), use: [])
      ring.set(\cs_ring_incident.source, at: TestRing.incident(index), 4)
      ring.set(\cs_ring_incident.kind, at: TestRing.incident(index), kind)
      ring.set(\cs_ring_incident.amount, at: TestRing.incident(index), amount)
    }
    let numbers = try ring.contents().incidents.map(\.requestNumber)
    #expect(numbers == [nil, amount > 0 ? UInt64(amount) : nil, nil])
    ring.set(\cs_ring_incident.source, at: TestRing.incident(1), 1)
    #expect(try ring.contents().incidents.allSatisfy { $0.requestNumber == nil })
  }
}
