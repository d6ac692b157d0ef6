import CShim
import CShimRing
import CTestKit
import Glibc
import Testing

/// Suites whose child processes keep the processors busy.
///
/// The suites run one after the other, because they compete for the processors.
@Suite("A crash while other threads are busy", .serialized)
struct BusyTests {}

extension BusyTests {
  @Suite("A stuck handler", .enabled(if: cs_test_can_run()), .serialized)
  struct DeadlineTests {}
}

extension BusyTests.DeadlineTests {
  /// Timeouts of the watchdog that reminds a stuck handler.
  ///
  /// They start when the handler reaches the injected fault. A timeout that must not pass is a minute long, because no
  /// test is allowed to depend on the speed of the machine.
  static let reminded = cs_test_patience(reminder_ms: 10, deadline_ms: 60000, kernel_ms: 0)
  static let ended = cs_test_patience(reminder_ms: 10, deadline_ms: 100, kernel_ms: 0)

  /// Runs a child process that crashes on `threads` threads.
  ///
  /// On each of them, the handler reaches the injected fault, which makes it stall or crash.
  private func crash(
    _ injection: cs_injection, at places: [cs_injection_point], threads: UInt32 = 1, patience: cs_test_patience
  ) throws -> Outcome {
    try withTemporaryDirectory { directory in
      let mask = places.reduce(0) { $0 | $1.rawValue }
      // Invariant: the strings and the summary are valid during the calls.
      let waitStatus = unsafe cs_test_run_injected(injection.rawValue, mask, threads, patience, directory)
      var spool = cs_test_spool()
      let isReadable = unsafe cs_test_read_spool(directory, &spool)
      try #require(isReadable)
      return Outcome(waitStatus: waitStatus, spool: spool)
    }
  }

  private func run(_ way: cs_test_stuck_way) throws -> Outcome {
    try withTemporaryDirectory { directory in
      // Invariant: the C string is valid during the call.
      let waitStatus = unsafe cs_test_run_stuck(way, directory)
      var spool = cs_test_spool()
      let isReadable = unsafe cs_test_read_spool(directory, &spool)
      try #require(isReadable)
      return Outcome(waitStatus: waitStatus, spool: spool)
    }
  }

  static let kinds: [cs_injection] = [.CS_INJECT_SLEEP, .CS_INJECT_LOOP, .CS_INJECT_DEAF]
  static let late = CS_RING_RECORD_MINIMAL | CS_RING_RECORD_LATE

  @Test(
    "if a handler is stuck before its commit, its partial record is committed, and the process ends by its signal",
    arguments: kinds,
    [cs_injection_point.CS_INJECT_REGISTERS, .CS_INJECT_STACK, .CS_INJECT_COMMIT])
  func recordIsCommitted(injection: cs_injection, place: cs_injection_point) throws {
    let patience = injection == .CS_INJECT_DEAF ? Self.ended : Self.reminded
    let outcome = try crash(injection, at: [place], patience: patience)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.bad_checksum_count == 0)
    #expect(outcome.spool.record_minimal == 1)
    #expect(outcome.spool.flags == Self.late)
    #expect(outcome.spool.signal == SIGSEGV)
    let hasFrames = place == .CS_INJECT_COMMIT
    #expect(hasFrames ? outcome.spool.frame_count > 3 : outcome.spool.frame_count == 1)
  }

  @Test(
    "a stuck handler's complete record stays complete, and the process ends by its signal", arguments: kinds,
    [cs_injection_point.CS_INJECT_COMMITTING, .CS_INJECT_DELIVERY, .CS_INJECT_SWEEP])
  func recordStaysWhole(injection: cs_injection, place: cs_injection_point) throws {
    let outcome = try crash(injection, at: [place], patience: Self.ended)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.writing_count == 0)
    #expect(outcome.spool.bad_checksum_count == 0)
    #expect(outcome.spool.flags == 0)
    #expect(outcome.spool.record_minimal == 0)
    #expect(outcome.spool.frame_count > 3)
  }

  @Test(
    "a handler that crashes leaves its committed record complete",
    arguments: [cs_injection_point.CS_INJECT_DELIVERY, .CS_INJECT_SWEEP])
  func crashAfterCommit(place: cs_injection_point) throws {
    let outcome = try crash(.CS_INJECT_CRASH, at: [place], patience: Self.reminded)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.bad_checksum_count == 0)
    #expect(outcome.spool.flags == 0)
  }

  @Test("if the handler is stuck on two threads at once, the records of both crashes are committed", arguments: kinds)
  func twoThreads(injection: cs_injection) throws {
    let patience = injection == .CS_INJECT_DEAF ? Self.ended : Self.reminded
    let outcome = try crashTogether(2) {
      try crash(injection, at: [.CS_INJECT_STACK], threads: 2, patience: patience)
    }
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 2)
    #expect(outcome.spool.writing_count == 0)
    #expect(outcome.spool.bad_checksum_count == 0)
  }

  @Test("a process whose handler is stuck on disk I/O ends by its signal", arguments: kinds)
  func spool(injection: cs_injection) throws {
    let outcome = try crash(injection, at: [.CS_INJECT_SPOOL], patience: Self.ended)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.file_count == 0)
  }

  @Test("the kernel ends a process whose handler is stuck on disk I/O that also blocks the watchdog")
  func watcher() throws {
    let patience = cs_test_patience(reminder_ms: 10, deadline_ms: 100, kernel_ms: 1)
    let outcome = try crash(.CS_INJECT_DEAF, at: [.CS_INJECT_REGISTERS, .CS_INJECT_SPOOL], patience: patience)
    #expect(outcome.signal == SIGKILL)
  }

  @Test(
    "an earlier handler receives the signal and the crash's registers after a stuck handler of the shield",
    arguments: [
      cs_test_stuck_way.CS_TEST_STUCK_CHAINED, .CS_TEST_STUCK_CHAINED_ABORT, .CS_TEST_STUCK_WITHOUT_DETAILS,
      .CS_TEST_STUCK_BLOCKED, .CS_TEST_STUCK_HELD,
    ])
  func chained(way: cs_test_stuck_way) throws {
    let outcome = try run(way)
    #expect(outcome.exitCode == 0)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.flags == Self.late)
  }

  @Test("a stuck handler in a forked child that has restarted the shield ends the child by its signal")
  func child() throws {
    let outcome = try run(.CS_TEST_STUCK_CHILD)
    #expect(outcome.exitCode == 0)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.flags == Self.late)
  }

  @Test(
    "a stuck handler in the first process of a pid namespace ends the process by its signal",
    .enabled(if: cs_test_can_unshare()))
  func firstProcess() throws {
    let outcome = try run(.CS_TEST_STUCK_FIRST_PROCESS)
    #expect(outcome.exitCode == 0)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.flags == Self.late)
  }

  @Test("the handler's deadline excludes the time of an earlier handler and of the program after that handler")
  func outlived() throws {
    #expect(try run(.CS_TEST_OUTLIVED_BY_HANDLER).exitCode == 0)
  }

  @Test(
    "the handler's helper threads do no harm to a healthy program",
    arguments: [
      cs_test_stuck_way.CS_TEST_FORKED_INSIDE, .CS_TEST_PROFILER_BLOCKED, .CS_TEST_INTERRUPTED_NAP,
    ])
  func healthy(way: cs_test_stuck_way) throws {
    #expect(try run(way).exitCode == 0)
  }
}
