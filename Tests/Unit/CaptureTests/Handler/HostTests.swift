import CTestKit
import Glibc
import Testing

@Suite("The shim in unusual programs", .enabled(if: cs_test_can_run()))
struct HostTests {
  @Test("under a file size limit, a crash leaves an empty spool file, and the process ends by its own signal")
  func fileSizeLimit() throws {
    let outcome = try crash(.CS_TEST_FILE_SIZE_LIMIT)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.file_count == 1)
    #expect(outcome.spool.empty_count == 1)
    #expect(outcome.spool.partial_count == 0)
  }

  @Test("a socket that reuses the descriptor of the shield's closed connection keeps its data")
  func reusedConnection() throws {
    #expect(try crash(.CS_TEST_REUSED_CONNECTION).exitCode == 0)
  }

  @Test("the idle thread's search for crashd leaves the last free descriptor for a crash")
  func retriedWithoutDescriptors() throws {
    let outcome = try crash(.CS_TEST_RETRIED_WITHOUT_DESCRIPTORS)
    #expect(outcome.signal == SIGILL)
    #expect(outcome.spool.committed_count == 1)
  }

  @Test(
    "a system call restarts after a signal as it does without the shield",
    arguments: [cs_test_way.CS_TEST_IGNORED_WHILE_READING, .CS_TEST_HANDLED_WHILE_READING])
  func interruptedCall(way: cs_test_way) throws {
    #expect(try crash(way).exitCode == 0)
  }

  @Test(
    "a later handler may call the shield's handler with only the signal number",
    arguments: [(cs_test_way.CS_TEST_CHAINED_ABORT, SIGABRT), (.CS_TEST_CHAINED_FAULT, SIGILL)])
  func chained(way: cs_test_way, signal: Int32) throws {
    let outcome = try crash(way)
    #expect(outcome.signal == signal)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.slot_head == 1)
    #expect(outcome.spool.signal == signal)
    #expect(outcome.spool.frame_count > 3)
  }

  @Test("a library file that was replaced on disk is not mistaken for the loaded library")
  func replacedLibrary() throws {
    #expect(try crash(.CS_TEST_REPLACED_LIBRARY).exitCode == 0)
  }

  @Test("a profiler's signals do not make the idle thread retry more often")
  func interruptedPause() throws {
    #expect(try crash(.CS_TEST_INTERRUPTED_PAUSE).exitCode == 0)
  }

  @Test("C-M3: if a later handler has SA_RESETHAND, the shield does not assume that the crash ends the process")
  func resetHandler() throws {
    #expect(try crash(.CS_TEST_HANDLER_RESET).exitCode == 0)
  }

  @Test(
    "a handler that replaces the shield's is detected, and a restored one is not reported",
    arguments: [cs_test_way.CS_TEST_HANDLERS_REPLACED, .CS_TEST_HANDLER_GIVEN_BACK])
  func replacedHandlers(way: cs_test_way) throws {
    #expect(try crash(way).exitCode == 0)
  }

  @Test("the start leaves every other signal's action, and the signal mask, unchanged")
  func otherSignals() throws {
    let outcome = try crash(.CS_TEST_OTHER_SIGNALS)
    #expect(outcome.exitCode == 0)
  }

  @Test("a file size limit below the size of the ring makes the start fail but does not end the process")
  func startsLimited() throws {
    #expect(try crash(.CS_TEST_STARTS_LIMITED).exitCode == 0)
  }
}
