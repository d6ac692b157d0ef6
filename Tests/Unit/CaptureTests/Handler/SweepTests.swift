import CShim
import CShimRing
import CTestKit
import Glibc
import Testing

extension BusyTests {
  @Suite("The sweep after a crash", .enabled(if: cs_test_can_run()), .serialized)
  struct SweepTests {
    private static let done = cs_ring_sweep.CS_RING_SWEEP_DONE.rawValue

    /// Crashes a child process that makes a thread sweep: its handler records the other threads.
    ///
    /// Repeats the crash up to three times if the thread sweep used up its time.
    ///
    /// On a machine under load, a thread sweep can reach its deadline before all threads have answered.
    private func sweep(_ way: cs_test_way) throws -> Outcome {
      var outcome = try crash(way)
      for _ in 0..<3 where outcome.spool.sweep_ns > 700_000_000 { outcome = try crash(way) }
      return outcome
    }

    @Test("D19: a sweep finds the stacks of a thousand waiting threads, but not those of the shield's own threads")
    func idle() throws {
      let outcome = try sweep(.CS_TEST_SWEEP_IDLE)
      #expect(outcome.signal == SIGSEGV)
      #expect(outcome.spool.file_count == 1)
      #expect(outcome.spool.committed_count == 1)
      #expect(outcome.spool.sweep == Self.done)
      // The count does not include the shield's own threads.
      #expect(outcome.spool.thread_count == 1000)
      #expect(outcome.spool.thread_total == 1000)
      #expect(outcome.spool.thread_whole_count == 1000)
      #expect(outcome.spool.thread_bad_count == 0)
      #expect(outcome.spool.thread_frame_minimum >= 3)
    }

    @Test("a sweep ends at its deadline, however many threads keep the processors busy")
    func spinning() throws {
      let outcome = try crash(.CS_TEST_SWEEP_SPINNING)
      let spool = outcome.spool
      #expect(outcome.signal == SIGSEGV)
      #expect(spool.sweep == Self.done)
      #expect(spool.thread_total == 100)
      // The exact numbers depend on the scheduler, which decides how many threads the sweep reaches before its
      // deadline.
      #expect(spool.thread_count <= 100)
      #expect(spool.thread_blocked_count == 0)
      #expect(spool.thread_whole_count + spool.thread_none_count + spool.thread_bad_count >= spool.thread_count)
    }

    @Test("a sweep marks a thread that blocks all signals, and does not wait for the thread")
    func blocked() throws {
      let outcome = try sweep(.CS_TEST_SWEEP_BLOCKED)
      #expect(outcome.signal == SIGSEGV)
      #expect(outcome.spool.sweep == Self.done)
      #expect(outcome.spool.thread_blocked_count == 1)
      #expect(outcome.spool.thread_whole_count == 0)
      #expect(outcome.spool.thread_bad_count == 0)
    }

    @Test("CRASHSHIELD_SWEEP_MS=0 disables the sweep")
    func off() throws {
      let outcome = try crash(.CS_TEST_SWEEP_OFF)
      #expect(outcome.signal == SIGSEGV)
      #expect(outcome.spool.committed_count == 1)
      #expect(outcome.spool.sweep == cs_ring_sweep.CS_RING_SWEEP_NONE.rawValue)
      #expect(outcome.spool.thread_count == 0)
    }

    @Test("if the program survives a crash, the next crash makes a new sweep without the threads of the first one")
    func again() throws {
      let spool = try sweep(.CS_TEST_SWEEP_AGAIN).spool
      #expect(spool.committed_count == 2)
      #expect(spool.survived == 1)
      #expect(spool.sweep == Self.done)
      #expect(spool.thread_total == 2)
      #expect(spool.thread_count == 2)
      #expect(spool.thread_whole_count == 2)
      #expect(spool.thread_bad_count == 0)
    }

    @Test("the next crash discards the sweep of a survived crash, even if the next crash makes no sweep itself")
    func notAgain() throws {
      let spool = try crash(.CS_TEST_SWEEP_NOT_AGAIN).spool
      #expect(spool.committed_count == 2)
      #expect(spool.survived == 1)
      #expect(spool.sweep == cs_ring_sweep.CS_RING_SWEEP_NONE.rawValue)
      #expect(spool.thread_count == 0)
      #expect(spool.thread_total == 0)
    }

    @Test("the sweep of a crash stays in the ring if the handler crashes after the sweep")
    func handlerCrashes() throws {
      let outcome = try sweep(.CS_TEST_SWEEP_HANDLER_CRASHES)
      #expect(outcome.signal == SIGABRT)
      #expect(outcome.spool.committed_count == 2)
      #expect(outcome.spool.survived == 0)
      #expect(outcome.spool.sweep == Self.done)
      #expect(outcome.spool.thread_count == 2)
    }

    @Test("with the sweep disabled, threads that crash at once all commit their records")
    func offTogether() throws {
      let outcome = try crashTogether(8) { try crash(.CS_TEST_SWEEP_OFF_TOGETHER) }
      #expect(outcome.signal == SIGSEGV)
      #expect(outcome.spool.committed_count == 8)
      #expect(outcome.spool.writing_count == 0)
    }

    @Test(
      "a sweep that cannot list the threads records this failure", .enabled(if: cs_test_can_unshare()),
      arguments: [cs_test_way.CS_TEST_SWEEP_NO_PROC, .CS_TEST_SWEEP_FOREIGN_PROC])
    func blind(way: cs_test_way) throws {
      let outcome = try crash(way)
      #expect(way == .CS_TEST_SWEEP_NO_PROC ? outcome.signal == SIGSEGV : outcome.exitCode == 0)
      #expect(outcome.spool.committed_count == 1)
      #expect(outcome.spool.sweep == cs_ring_sweep.CS_RING_SWEEP_BLIND.rawValue)
      #expect(outcome.spool.thread_count == 0)
    }

    @Test(
      "C-M4: if a sweep interrupts a system call, the thread's alternate stack stays free for the program's handlers")
    func heldStack() throws {
      #expect(try crash(.CS_TEST_HELD_STACK).exitCode == 0)
    }

    @Test("C-L1: after the sweep has restored the action of SIGPROF, the shield sends no SIGPROF")
    func lateReminder() throws {
      #expect(try crash(.CS_TEST_HELD_REMINDER).exitCode == 0)
    }

    @Test("a sweep leaves the program's own use of SIGPROF intact")
    func profiler() throws {
      #expect(try crash(.CS_TEST_SWEEP_PROFILER).exitCode == 0)
    }
  }
}
