import CShim
import CShimRing
import CShimTestSupport
import Glibc
import Testing

extension BusyTests {
  @Suite("The sweep after a crash", .enabled(if: cs_test_can_run()), .serialized)
  struct SweepTests {
    private static let done = cs_ring_sweep.CS_RING_SWEEP_DONE.rawValue

    @Test("finds where a thousand waiting threads are")
    func idle() throws {
      let outcome = try crash(.CS_TEST_SWEEP_IDLE)
      #expect(outcome.signal == SIGSEGV)
      #expect(outcome.spool.file_count == 1)
      #expect(outcome.spool.committed_count == 1)
      #expect(outcome.spool.sweep == Self.done)
      // And the idle thread of the shield.
      #expect(outcome.spool.thread_count == 1001)
      #expect(outcome.spool.thread_total == 1001)
      #expect(outcome.spool.thread_whole_count == 1001)
      #expect(outcome.spool.thread_bad_count == 0)
      #expect(outcome.spool.thread_frame_minimum >= 3)
    }

    @Test("ends at its deadline, however many threads keep the processors busy")
    func spinning() throws {
      let outcome = try crash(.CS_TEST_SWEEP_SPINNING)
      let spool = outcome.spool
      #expect(outcome.signal == SIGSEGV)
      #expect(spool.sweep == Self.done)
      #expect(spool.thread_total == 101)
      // How many come to be asked, and to answer, is the scheduler's; what is there says what it is.
      #expect(spool.thread_count <= 101)
      #expect(spool.thread_blocked_count == 0)
      #expect(spool.thread_whole_count + spool.thread_none_count + spool.thread_bad_count >= spool.thread_count)
    }

    @Test("names a thread that blocks all signals, and does not wait for it")
    func blocked() throws {
      let outcome = try crash(.CS_TEST_SWEEP_BLOCKED)
      #expect(outcome.signal == SIGSEGV)
      #expect(outcome.spool.sweep == Self.done)
      #expect(outcome.spool.thread_blocked_count == 1)
      #expect(outcome.spool.thread_whole_count == 1)
      #expect(outcome.spool.thread_bad_count == 0)
    }

    @Test("does not take place with CRASHSHIELD_SWEEP_MS=0")
    func off() throws {
      let outcome = try crash(.CS_TEST_SWEEP_OFF)
      #expect(outcome.signal == SIGSEGV)
      #expect(outcome.spool.committed_count == 1)
      #expect(outcome.spool.sweep == cs_ring_sweep.CS_RING_SWEEP_NONE.rawValue)
      #expect(outcome.spool.thread_count == 0)
    }

    @Test("leaves the program its own use of SIGPROF")
    func profiler() throws {
      #expect(try crash(.CS_TEST_SWEEP_PROFILER).exitCode == 0)
    }
  }
}
