import CShimRing
import CTestKit
import Glibc
import Testing

@Suite("First-chance handlers, installed before the shield", .enabled(if: cs_test_can_run()))
struct FirstChanceTests {
  private func run(_ way: cs_test_chance_way) throws -> Outcome {
    try unsafe run { unsafe cs_test_run_chance(way, $0) }
  }

  private func run(_ program: (UnsafePointer<CChar>) -> CInt) throws -> Outcome {
    try withTemporaryDirectory { directory in
      // Invariant: the path and the summary are valid during the calls.
      let waitStatus = unsafe directory.withCString { unsafe program($0) }
      var spool = cs_test_spool()
      try #require(unsafe cs_test_read_spool(directory, &spool))
      return Outcome(waitStatus: waitStatus, spool: spool)
    }
  }

  @Test("D10: a thousand faults that a first-chance handler repairs on two threads are not crashes and cause no sweep")
  func repaired() throws {
    let outcome = try run(.CS_TEST_CHANCE_REPAIRED)
    #expect(outcome.exitCode == 0)
    #expect(outcome.spool.file_count == 0)
  }

  @Test("D10: a crash after repaired faults is recorded with its own data, and as the only crash")
  func thenCrash() throws {
    let outcome = try run(.CS_TEST_CHANCE_THEN_CRASH)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1 && outcome.spool.pending_count == 0)
    #expect(outcome.spool.address == 0x38)
    #expect(outcome.spool.sweep == cs_ring_sweep.CS_RING_SWEEP_DONE.rawValue)
    #expect(outcome.spool.slot_lost == 0 && outcome.spool.record_minimal == 0)
  }

  @Test(
    "D10: a first-chance handler gets the mask, the stack and the context that the kernel would give it",
    arguments: [cs_test_chance_way.CS_TEST_CHANCE_OWN_STACK, .CS_TEST_CHANCE_ON_STACK])
  func asTheKernel(way: cs_test_chance_way) throws {
    let outcome = try run(way)
    #expect(outcome.exitCode == 0)
    #expect(outcome.spool.file_count == 0)
  }

  @Test("D10: if a first-chance handler leaves a fault by siglongjmp(), the watchdog withdraws the record of the fault")
  func left() throws {
    let outcome = try run(.CS_TEST_CHANCE_LEFT)
    #expect(outcome.exitCode == 0)
    #expect(outcome.spool.file_count == 0)
  }

  @Test(
    "D10: the watchdog withdraws the record of a fault left by siglongjmp() even if the thread waits in a deeper frame")
  func leftDeeper() throws {
    let outcome = try run(.CS_TEST_CHANCE_LEFT_DEEPER)
    #expect(outcome.exitCode == 0)
    #expect(outcome.spool.file_count == 0)
  }

  @Test("D10: without /proc, a fault for which an earlier handler ends the process is recorded")
  func withoutProc() throws {
    let outcome = try unsafe run { unsafe cs_test_run_chance_without_proc($0) }
    #expect(outcome.exitCode == 3)
    // A second pending record is possible, because the handler can write the spool file before the watchdog withdraws
    // the last record of a repaired fault.
    #expect((1...2).contains(outcome.spool.pending_count) && outcome.spool.committed_count == 0)
    #expect(outcome.spool.signal == SIGSEGV && outcome.spool.address == 0x38 && outcome.spool.frame_count > 3)
  }

  @Test("D10: traps are not crashes as long as an earlier handler returns from them, even for seconds")
  func traps() throws {
    let outcome = try unsafe run { unsafe cs_test_run_traps($0) }
    #expect(outcome.exitCode == 0)
  }

  @Test("D10: the shield does not mistake a later handler that tail-calls the shield's handler for an earlier handler")
  func jumpedTo() throws {
    let outcome = try run(.CS_TEST_CHANCE_JUMPED_TO)
    #expect(outcome.exitCode == 0)
    #expect(outcome.spool.committed_count == 1 && outcome.spool.signal == SIGSEGV)
  }

  @Test("D10: a signal during a first-chance handler runs on the stack that the kernel would choose")
  func signalled() throws {
    let outcome = try run(.CS_TEST_CHANCE_SIGNALLED)
    #expect(outcome.exitCode == 0)
    #expect(outcome.spool.file_count == 0)
  }

  @Test("D10: after faults that a handler left by siglongjmp(), a crash is the only recorded one")
  func leftThenCrash() throws {
    let outcome = try run(.CS_TEST_CHANCE_LEFT_THEN_CRASH)
    #expect(outcome.signal == SIGILL)
    #expect(outcome.spool.committed_count == 1 && outcome.spool.pending_count == 0)
    #expect(outcome.spool.signal == SIGILL)
  }

  @Test(
    "D10: a fault that a first-chance handler passes to the default action is recorded once, with its address",
    arguments: [
      cs_test_chance_way.CS_TEST_CHANCE_DEFAULT, .CS_TEST_CHANCE_SENT_AGAIN, .CS_TEST_CHANCE_ONCE,
    ])
  func handedOn(way: cs_test_chance_way) throws {
    let outcome = try run(way)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1 && outcome.spool.pending_count == 0)
    #expect(outcome.spool.signal == SIGSEGV && outcome.spool.code == Int32(SEGV_ACCERR))
    #expect(outcome.spool.frame_count > 3)
    #expect(outcome.spool.sweep == cs_ring_sweep.CS_RING_SWEEP_DONE.rawValue)
  }

  @Test("D10: if a first-chance handler ends the process at a fault, the fault has a complete record")
  func ends() throws {
    let outcome = try run(.CS_TEST_CHANCE_ENDS)
    #expect(outcome.exitCode == 3)
    #expect(outcome.spool.pending_count == 1 && outcome.spool.committed_count == 0)
    #expect(outcome.spool.signal == SIGSEGV && outcome.spool.frame_count > 3 && outcome.spool.stack_bytes > 0)
    #expect(outcome.spool.bad_checksum_count == 0)
  }

  @Test("D10: a fault whose first-chance handler does not return is a crash at the watchdog's deadline")
  func late() throws {
    let outcome = try run(.CS_TEST_CHANCE_LATE)
    #expect(outcome.exitCode == 3)
    // The program's handler ends the process when the ring contains the crash. In the spool file, the record can still
    // be pending, because the file can be older than the watchdog's change.
    #expect(outcome.spool.committed_count + outcome.spool.pending_count == 1)
  }

  @Test("D10: abort() in a first-chance handler is recorded in addition to its fault")
  func aborts() throws {
    let outcome = try run(.CS_TEST_CHANCE_ABORTS)
    #expect(outcome.signal == SIGABRT)
    #expect(outcome.spool.committed_count == 2 && outcome.spool.pending_count == 0)
    #expect(outcome.spool.signal == SIGSEGV)
  }

  @Test("D10: a fault that a first-chance handler never repairs is recorded while the program repeats it")
  func loops() throws {
    let outcome = try run(.CS_TEST_CHANCE_LOOPS)
    #expect(outcome.exitCode == 0)
  }

  @Test(
    "D10: a stack overflow is recorded, although the kernel could not call the first-chance handler",
    .enabled(if: cs_test_gives_stacks()))
  func overflow() throws {
    let outcome = try run(.CS_TEST_CHANCE_OVERFLOW)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1 && outcome.spool.pending_count == 0)
  }
}
