import CShim
import CShimRing
import CTestKit
import Glibc
import Testing

@Suite("A thread's alternate stack", .enabled(if: cs_test_can_run() && cs_test_gives_stacks()))
struct ThreadStackTests {
  @Test(
    "on an alternate stack, an overflow is recorded with the innermost and the outermost frames",
    arguments: [
      cs_test_way.CS_TEST_THREAD_OVERFLOW, .CS_TEST_DESTRUCTOR_OVERFLOW, .CS_TEST_OWN_STACK_OVERFLOW,
    ])
  func overflow(way: cs_test_way) throws {
    let outcome = try crash(way)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.bad_checksum_count == 0)
    #expect(outcome.spool.flags == 0)
    #expect(outcome.spool.frame_head == 128)
    #expect(outcome.spool.frame_count == 192)
    #expect(outcome.spool.frame_total > 1000)
    #expect(outcome.spool.unwind_stop == cs_unwind_stop.CS_UNWIND_STOP_END.rawValue)
  }

  @Test("on an alternate stack, the overflow of a very small stack is recorded")
  func smallStack() throws {
    let outcome = try crash(.CS_TEST_SMALL_THREAD_OVERFLOW)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.frame_total > 40)
    #expect(outcome.spool.unwind_stop == cs_unwind_stop.CS_UNWIND_STOP_END.rawValue)
  }

  @Test("CRASHSHIELD_ALTSTACKS=0 disables alternate stacks, and a stack overflow then ends the process unrecorded")
  func switchedOff() throws {
    let outcome = try crash(.CS_TEST_NO_STACKS_OVERFLOW)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.file_count == 0)
  }

  @Test(
    "alternate stacks are installed at thread start, and freed at thread exit",
    arguments: [
      cs_test_way.CS_TEST_STACKS_GIVEN, .CS_TEST_STACKS_TAKEN_BACK, .CS_TEST_THREAD_BESIDE_LOADER_LOCK,
    ])
  func life(way: cs_test_way) throws {
    #expect(try crash(way).exitCode == 0)
  }

  @Test(
    "a thread runs without an alternate stack if the limit of the address space leaves no room for it",
    arguments: [cs_test_way.CS_TEST_STACK_REFUSED, .CS_TEST_STACK_CROWDS_OUT])
  func limited(way: cs_test_way) throws {
    #expect(try crash(way).exitCode == 0)
  }
}
