import CShim
import CShimRing
import CrashRing
import CrashShield
import Glibc
import Synchronization
import TestKit
import Testing

/// Tests when and how a drain ends: after a trap, the process finishes its other requests, and then ends.
///
/// Each test drains a separate process.
@Suite("Drain", .unlessSanitized)
struct DrainTests {
  private static let others = 6

  @Test(
    "in a drain, the other requests finish, and the process ends by the signal of the trap",
    arguments: [false, true])
  func done(hasPool: Bool) async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(trapSignal)) {
        [directory = directory as String, hasPool = hasPool as Bool] in
        let event = Event()
        startShield(spool: directory, .drain(grace: .seconds(600), stall: .zero, pool: hasPool)) { event.happen() }
        let requests = Requests()
        await requests.begin(DrainTests.others)
        await requests.run("the request") { fatalError("the last words") }
        guard requests.trapped == 1, Shield.isDraining else { complain("\(requests.trapped)") }
        await event.wait()
        await requests.letGo()
        await stayForever()
      }
      try withSpooledRing(in: directory) { ring in
        #expect(ring.drainEnd == .CS_RING_DRAIN_DONE)
        #expect(ring.header.drain_finished == UInt32(Self.others) && ring.header.drain_lost == 0)
        #expect(ring.verdict() == (.CS_RING_VERDICT_DRAIN, .CS_RING_VERDICT_REASON_BUDGET))
        #expect(ring.trapped == ["the request"])
      }
      let contents = try ringContents(ofSpool: directory)
      #expect(contents.records.count == 1 && contents.records.first?.message.contains("the last words") == true)
      #expect(contents.records.first?.signal == trapSignal && contents.incidents.isEmpty)
    }
  }

  @Test("with the pool, the requests of further traps during a drain are answered, and each trap has a record")
  func further() async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(trapSignal)) { [directory = directory as String] in
        startShield(spool: directory, .drain(grace: .seconds(600), stall: .zero, pool: true))
        let requests = Requests()
        await requests.begin(DrainTests.others)
        for _ in 0..<3 { await requests.run("the request") { _ = shelf(0) } }
        guard requests.trapped == 3 else { complain("\(requests.trapped)") }
        await requests.letGo()
        await stayForever()
      }
      try withSpooledRing(in: directory) { ring in
        #expect(ring.drainEnd == .CS_RING_DRAIN_DONE)
        #expect(ring.header.drain_finished == UInt32(Self.others) && ring.header.drain_lost == 0)
        // The threads write their records at the same time, so the slots of the records are in any order.
        let verdicts = (0..<3).map { ring.verdict(slot: $0) }
        #expect(verdicts.allSatisfy { $0.0 == .CS_RING_VERDICT_DRAIN })
        #expect(verdicts.count { $0.1 == .CS_RING_VERDICT_REASON_DRAINING } == 2)
      }
    }
  }

  @Test(
    "requests that never end are answered at the deadline of the drain, or when no request progresses",
    arguments: [true, false])
  func late(hasDeadline: Bool) async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(trapSignal)) {
        [directory = directory as String, hasDeadline = hasDeadline as Bool] in
        startShield(
          spool: directory,
          .drain(
            grace: hasDeadline ? .milliseconds(300) : .seconds(600), stall: hasDeadline ? .zero : .milliseconds(300),
            pool: true))
        let requests = Requests()
        await requests.begin(DrainTests.others)
        await requests.run("the request") { _ = shelf(0) }
        await stayForever()
      }
      try withSpooledRing(in: directory) { ring in
        #expect(ring.drainEnd == (hasDeadline ? .CS_RING_DRAIN_DEADLINE : .CS_RING_DRAIN_STALL))
        #expect(ring.header.drain_lost == UInt32(Self.others) && ring.header.drain_finished == 0)
        #expect(ring.trapped.count == Self.others + 1)
      }
    }
  }

  @Test("exit() during a drain does not replace the signal by which the process ends")
  func leaves() async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(trapSignal)) { [directory = directory as String] in
        startShield(spool: directory, .drain(grace: .seconds(600), stall: .zero))
        let requests = Requests()
        await requests.begin(DrainTests.others)
        await requests.run("the request") { _ = shelf(0) }
        Glibc.exit(0)
      }
      try withSpooledRing(in: directory) { ring in
        #expect(ring.drainEnd == .CS_RING_DRAIN_EXIT && ring.header.drain_lost == UInt32(Self.others))
      }
    }
  }

  @Test("exit() after a contained trap ends the process with the status of exit()")
  func leavesLater() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield(spool: "/dev/null/spool", .contain(budget: 4))
      let requests = Requests()
      await requests.run("the request") { _ = shelf(0) }
      guard requests.trapped == 1 else { complain("\(requests.trapped)") }
      Glibc.exit(rightStatus)
    }
  }

  @Test("another crash during a drain ends the process at once, by the signal of that crash")
  func crash() async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(SIGSEGV)) { [directory = directory as String] in
        startShield(spool: directory, .drain(grace: .seconds(600), stall: .zero, pool: true))
        let requests = Requests()
        await requests.begin(DrainTests.others)
        await requests.run("the request") { _ = shelf(0) }
        // The shield can resume the caller before it has written the record of the trap. Wait for this record, so that
        // the second crash gets the next slot.
        while RingBytes.here.header.drain_sequence == 0 { await Task.yield() }
        unsafe UnsafeMutablePointer<Int>(bitPattern: opaque(16))?.pointee = 1
      }
      try withSpooledRing(in: directory) { ring in
        #expect(ring.drainEnd == .CS_RING_DRAIN_CRASH && ring.header.drain_lost == UInt32(Self.others))
        #expect(ring.verdict().0 == .CS_RING_VERDICT_DRAIN)
        #expect(ring.verdict(slot: 1) == (.CS_RING_VERDICT_DIE, .CS_RING_VERDICT_REASON_NOT_TRAP))
      }
    }
  }

  @Test(
    "a drain detects threads that wait for a lock of a parked thread, and answers their requests",
    arguments: [true, false])
  func waits(isMutex: Bool) async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(trapSignal)) {
        [directory = directory as String, isMutex = isMutex as Bool] in
        startShield(spool: directory, .contain(budget: 4, grace: .seconds(600), stall: .zero))
        let requests = Requests()
        let lock = Lock(isMutex: isMutex)
        await requests.begin(DrainTests.others)
        await requests.run("the request") { lock.withLock { _ = shelf(0) } }
        guard requests.trapped == 1, !Shield.isDraining else { complain("\(requests.trapped)") }
        for _ in 0..<4 { await requests.run("the waiting one") { lock.withLock {} } }
        guard requests.trapped == 5, Shield.isDraining else { complain("\(requests.trapped)") }
        await requests.letGo()
        await stayForever()
      }
      try withSpooledRing(in: directory) { ring in
        #expect(ring.verdict() == (.CS_RING_VERDICT_DRAIN, .CS_RING_VERDICT_REASON_WAITS))
        #expect(ring.drainEnd == .CS_RING_DRAIN_DONE)
        #expect(ring.header.drain_finished == UInt32(Self.others) && ring.header.drain_lost == 4)
        #expect(ring.crashed().request.operation == "the request")
      }
      let contents = try ringContents(ofSpool: directory)
      #expect(contents.records.count == 1 && contents.records.first?.message.contains("is empty") == true)
      #expect(contents.incidents.count == 1)
    }
  }

  @Test("a handler that was installed before the shield gets the trap after the drain")
  func chained() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      // The program's handler ends the process without calling the functions of atexit().
      signal(trapSignal) { _ in _exit(rightStatus) }
      startShield(spool: "/dev/null/spool", .drain(grace: .seconds(600), stall: .zero))
      await Requests().run("the request") { _ = shelf(0) }
      await stayForever()
    }
  }

  @Test("in a forked child, a trap ends the child at once")
  func child() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield(spool: "/dev/null/spool", .contain(budget: 4))
      await Requests().run("the request") {}
      let child = forkAndTrap()
      var status: Int32 = 0
      // Invariant: the variable is valid during the call.
      guard unsafe waitpid(child, &status, 0) == child, status & 0x7f == trapSignal, !Shield.isDraining else {
        complain("\(status)")
      }
      Glibc.exit(rightStatus)
    }
  }
}

/// A `Mutex` of Swift, or a POSIX mutex.
@safe
private final class Lock: Sendable {
  private let mutex = Mutex(())
  private let isMutex: Bool
  // Invariant: only POSIX functions access this memory, which is never freed.
  private nonisolated(unsafe) let posix = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

  init(isMutex: Bool) {
    self.isMutex = isMutex
    unsafe pthread_mutex_init(posix, nil)
  }

  @inline(never)
  func withLock(_ body: () -> Void) {
    if isMutex { return mutex.withLock { _ in body() } }
    unsafe pthread_mutex_lock(posix)
    body()
    unsafe pthread_mutex_unlock(posix)
  }
}

/// Forks a child that traps, and returns the pid of the child.
///
/// Swift does not import fork().
private func forkAndTrap() -> pid_t {
  let child = fork_()
  if child == 0 { _ = shelf(0) }
  return child
}

@_silgen_name("fork")
private func fork_() -> pid_t
