import CShim
import CTestKit
import Glibc
import Testing

@Suite("The shield's own threads and descriptors", .enabled(if: cs_test_can_run()))
struct OwnThreadTests {
  private func run(_ way: cs_test_own_way) throws -> Int32 {
    // Invariant: the C string is valid during the call, and the function does not keep the pointer.
    try withTemporaryDirectory { unsafe cs_test_run_own(way, $0) }
  }

  @Test(
    "D2: a signal that the program waits for goes to the waiting thread",
    arguments: [SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP, SIGFPE, SIGSYS, SIGPROF, SIGTERM],
    [cs_test_wait_call.CS_TEST_SIGWAIT, .CS_TEST_SIGWAITINFO, .CS_TEST_SIGNALFD])
  func awaitedSignal(signal: Int32, call: cs_test_wait_call) throws {
    // Invariant: the C string is valid during the call, and the function does not keep the pointer.
    let status = try withTemporaryDirectory { unsafe cs_test_run_wait(signal, call, $0) }
    #expect(status == 0)
  }

  @Test("D2: each thread of the shield blocks the crash signals")
  func masks() throws {
    #expect(try run(.CS_TEST_OWN_MASKS) == 0)
  }

  @Test("D2: a crash signal during a callback of the program goes to the thread that waits for the signal")
  func besideCallback() throws {
    #expect(try run(.CS_TEST_OWN_CALLBACK) == 0)
  }

  @Test("D2: a crash signal to the quarantine's thread goes to the thread that waits for the signal")
  func besideReaper() throws {
    #expect(try run(.CS_TEST_OWN_REAPER) == 0)
  }

  @Test("D2: a crash signal to the thread that delivers incidents goes to the thread that waits for the signal")
  func besideIncidents() throws {
    #expect(try run(.CS_TEST_OWN_INCIDENTS) == 0)
  }

  @Test("D2: the record of a crash signal that another process sent during a callback names the sender")
  func passedOn() throws {
    try withTemporaryDirectory { directory in
      // Invariant: the C string is valid during the call, and the call writes the summary before it returns.
      #expect(unsafe cs_test_run_own(.CS_TEST_OWN_PASSED_ON, directory) & 0x7f == SIGABRT)
      var spool = cs_test_spool()
      #expect(unsafe cs_test_read_spool(directory, &spool))
      #expect(spool.committed_count == 1 && spool.signal == SIGABRT && spool.code == SI_USER)
      #expect(spool.sender_pid == spool.pid)
    }
  }

  @Test("D2: a crash in a callback that the shield runs is recorded")
  func crashedCallback() throws {
    try withTemporaryDirectory { directory in
      // Invariant: the C string is valid during the call, and the call writes the summary before it returns.
      #expect(unsafe cs_test_run_own(.CS_TEST_OWN_CRASHED_CALLBACK, directory) & 0x7f == SIGSEGV)
      var spool = cs_test_spool()
      #expect(unsafe cs_test_read_spool(directory, &spool))
      #expect(spool.committed_count == 1)
    }
  }

  @Test(
    "D5: root with kept capabilities changes its groups after its user, and the shield's threads restart",
    .enabled(if: geteuid() == 0))
  func setxid() throws {
    #expect(try run(.CS_TEST_OWN_SETXID) == 0)
  }

  @Test(
    "C-L6: two threads can change the groups of the process at the same time", .enabled(if: geteuid() == 0))
  func rights() throws {
    #expect(try run(.CS_TEST_OWN_RIGHTS) == 0)
  }

  @Test(
    "F22: the shield's threads restart after the process has entered other user and mount namespaces",
    .enabled(if: cs_test_can_unshare()), arguments: [cs_test_own_way.CS_TEST_OWN_UNSHARE, .CS_TEST_OWN_SETNS])
  func namespaces(way: cs_test_own_way) throws {
    #expect(try run(way) == 0)
  }

  @Test("D20: the shield does not use the low descriptor numbers")
  func numbers() throws {
    #expect(try run(.CS_TEST_OWN_NUMBERS) == 0)
  }

  @Test("C-M2: a process that cannot get a second descriptor table attaches again after crashd's restart")
  func sharedTable() throws {
    #expect(try run(.CS_TEST_OWN_SHARED_TABLE) == 0)
  }

  @Test("a start that is retried after a failure creates no second thread for callbacks")
  func retried() throws {
    #expect(try run(.CS_TEST_OWN_RETRIED) == 0)
  }

  @Test("C-L4: the thread ID of the connection thread is cleared when crashd has refused the process")
  func refused() throws {
    #expect(try run(.CS_TEST_OWN_REFUSED) == 0)
  }

  @Test(
    "C-L5: callbacks have the start's crash signals unblocked, whichever thread restarts the shield",
    .enabled(if: cs_test_can_unshare()))
  func restarted() throws {
    #expect(try run(.CS_TEST_OWN_RESTARTED) == 0)
  }

  @Test(
    "F5: a crash while another thread closes all descriptors leaves that thread's new files intact",
    arguments: [3, 5] as [Int32])
  func raced(first: Int32) throws {
    try crashBesideCloser(first: first, handlerCrashes: false)
  }

  @Test(
    "C-L3: a crash of the handler while another thread closes all descriptors leaves that thread's files intact",
    arguments: [3, 5] as [Int32])
  func racedHandler(first: Int32) throws {
    try crashBesideCloser(first: first, handlerCrashes: true)
  }

  private func crashBesideCloser(first: Int32, handlerCrashes: Bool) throws {
    for _ in 0..<100 {
      try withTemporaryDirectory { directory in
        var hurt: UInt32 = 0
        // Invariant: the C string is valid during the call, and the call writes the number before it returns.
        let hasCrashed = unsafe cs_test_run_raced(first, handlerCrashes, directory, &hurt)
        #expect(hasCrashed)
        #expect(hurt == 0)
      }
    }
  }
}
