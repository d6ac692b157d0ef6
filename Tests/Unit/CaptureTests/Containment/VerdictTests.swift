import CShimRing
import CrashRing
import CrashShield
import Glibc
import TestKit
import Testing

/// Tests the handler's verdict about a trap: it is contained, drains the process, or ends the process at once.
///
/// Each trap occurs in a separate process, while other requests run.
@Suite("The verdict about a trap", .unlessSanitized)
struct VerdictTests {
  private static let others = 6
  private static let containedPlaces = TrapPlace.allCases.filter { $0.reason == nil }
  private static let drainedPlaces = TrapPlace.allCases.filter { $0.reason != nil }

  @Test("a contained trap ends its request only, and the ring has its incident", arguments: containedPlaces)
  func contained(place: TrapPlace) async throws {
    await #expect(processExitsWith: .exitCode(rightStatus)) { [place = place as TrapPlace] in
      startShield(spool: "/dev/null/spool", .contain(budget: 2))
      let requests = Requests()
      await requests.begin(VerdictTests.others)
      await requests.run("the request") { await place.trap() }
      await requests.letGo()
      await requests.run("a later request") {}
      guard requests.trapped == 1, !Shield.isDraining, Shield.status.containmentObstacle == nil else {
        complain("\(requests.trapped) \(Shield.status)")
      }
      let ring = RingBytes.here
      guard ring.trapped == ["the request"], ring.header.containment_count == 1, ring.header.request_failed == 1 else {
        complain("\(ring.trapped) \(ring.header)")
      }
      do {
        let incidents = try incidents()
        let number = UInt64(VerdictTests.others + 1)
        guard incidents.count == 1, incidents[0].kind == cs_ring_contained.CS_RING_CONTAINED_REQUEST.rawValue,
          incidents[0].amount == Int64(number), incidents[0].trap != nil, incidents[0].subject.contains("Fatal error")
        else { complain("\(incidents)") }
      } catch { complain("\(error)") }
      Glibc.exit(rightStatus)
    }
  }

  @Test(
    "a trap that cannot be contained drains the process: the other requests finish, then the trap ends the process",
    arguments: drainedPlaces)
  func drained(place: TrapPlace) async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(trapSignal)) {
        [directory = directory as String, place = place as TrapPlace] in
        let event = Event()
        startShield(spool: directory, .contain(budget: 2, grace: .seconds(600), stall: .seconds(2))) { event.happen() }
        let requests = Requests()
        await requests.begin(VerdictTests.others)
        requests.start("the request") { await place.trap() }
        await event.wait()
        await requests.letGo()
        await stayForever()
      }
      try withSpooledRing(in: directory) { ring in
        let verdict = ring.verdict()
        #expect(verdict.0 == .CS_RING_VERDICT_DRAIN && verdict.1 == place.reason, "\(verdict)")
        let header = ring.header
        #expect(header.drain_finished == UInt32(Self.others) && header.drain_lost == (place.isOfRequest ? 0 : 1))
        #expect(ring.drainEnd == (place.isOfRequest ? .CS_RING_DRAIN_DONE : .CS_RING_DRAIN_STALL), "\(ring.drainEnd)")
        #expect(header.drain_sequence == 1 && header.drain_end_ns > header.drain_begin_ns)
        #expect(ring.crashed().request.operation == (place.isOfRequest ? "the request" : ""))
      }
    }
  }

  @Test(
    "a signal that is not a trap ends the process at once, with its reason", arguments: [SIGSEGV, SIGABRT, trapSignal])
  func atOnce(signal: Int32) async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(signal)) { [directory = directory as String, signal = signal as Int32] in
        startShield(spool: directory, .contain(budget: 2))
        let requests = Requests()
        await requests.begin(VerdictTests.others)
        await requests.run("the request") {
          switch signal {
          case SIGSEGV: unsafe UnsafeMutablePointer<Int>(bitPattern: opaque(16))?.pointee = 1
          case SIGABRT: abort()
          default: raise(trapSignal)
          }
        }
      }
      try withSpooledRing(in: directory) { ring in
        let reason: cs_ring_verdict_reason =
          signal == trapSignal ? .CS_RING_VERDICT_REASON_SENT : .CS_RING_VERDICT_REASON_NOT_TRAP
        #expect(ring.verdict() == (.CS_RING_VERDICT_DIE, reason))
        #expect(ring.drainEnd == .CS_RING_DRAIN_NONE && ring.header.drain_begin_ns == 0 && ring.trapped == [])
      }
    }
  }

  @Test("if containment is off, the record of a trap has no verdict")
  func off() async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(trapSignal)) { [directory = directory as String] in
        startShield(spool: directory)
        await Requests().run("the request") { _ = shelf(0) }
      }
      try withSpooledRing(in: directory) { ring in
        #expect(ring.verdict() == (.CS_RING_VERDICT_NONE, .CS_RING_VERDICT_REASON_NONE))
        #expect(ring.header.containment_mode == cs_ring_containment.CS_RING_CONTAINMENT_OFF.rawValue)
        #expect(ring.crashed().request.isRunning && ring.crashed().request.operation == "the request")
      }
    }
  }

  @Test("the first trap beyond the budget drains the process, and a trap in a nested request ends both requests")
  func budget() async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(trapSignal)) { [directory = directory as String] in
        startShield(spool: directory, .contain(budget: 2))
        let requests = Requests()
        for _ in 0..<2 { await requests.run("the request") { _ = shelf(0) } }
        await requests.run("the last") {
          await Shield.withRequest("inner") {
            await Task.yield()
            _ = shelf(0)
          }
        }
        await stayForever()
      }
      try withSpooledRing(in: directory) { ring in
        #expect(ring.verdict() == (.CS_RING_VERDICT_DRAIN, .CS_RING_VERDICT_REASON_BUDGET))
        #expect(ring.header.containment_count == 2 && ring.header.containment_budget == 2)
        #expect(ring.trapped.sorted() == ["inner", "the last", "the request", "the request"])
        #expect(ring.drainEnd == .CS_RING_DRAIN_DONE && ring.header.drain_lost == 0)
      }
    }
  }

  @Test("a trap of code whose earlier traps have used half of the budget drains the process; other traps do not")
  func repeated() async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(trapSignal)) { [directory = directory as String] in
        startShield(spool: directory, .contain(budget: 100))
        let requests = Requests()
        let onePlace = { @Sendable () async -> Void in _ = shelf(0) }
        for round in 0..<40 {
          await requests.run("one place", onePlace)
          await requests.run("another place") { fatalError("round \(round)") }
        }
        while !Shield.isDraining { await requests.run("one place", onePlace) }
        await stayForever()
      }
      try withSpooledRing(in: directory) { ring in
        #expect(ring.verdict() == (.CS_RING_VERDICT_DRAIN, .CS_RING_VERDICT_REASON_REPEATED))
        #expect(ring.header.containment_count == 90)
      }
    }
  }
}
