import CShim
import CShimRing
import CTestKit
import Glibc
import Testing

/// The result of a child process that crashed: its wait status, and the contents of the ring that it left in the spool.
struct Outcome {
  var waitStatus: Int32
  var spool: cs_test_spool

  /// The signal that ended the process.
  ///
  /// It is nil if the process exited.
  var signal: Int32? {
    let number = waitStatus & 0x7f
    return waitStatus >= 0 && number != 0 ? number : nil
  }

  /// The exit status.
  ///
  /// The value is nil if a signal ended the process.
  var exitCode: Int32? { waitStatus >= 0 && signal == nil ? waitStatus >> 8 & 0xff : nil }
}

/// Runs a child process in a new directory in which no daemon listens.
func crash(_ way: cs_test_way) throws -> Outcome {
  try withTemporaryDirectory { directory in
    // Invariant: the C string is valid during the call, and the function does not keep the pointer.
    let waitStatus = unsafe cs_test_run(way, directory)
    var spool = cs_test_spool()
    // Invariant: the C string is valid during the call, and the call writes the summary before it returns.
    let isReadable = unsafe cs_test_read_spool(directory, &spool)
    try #require(isReadable)
    return Outcome(waitStatus: waitStatus, spool: spool)
  }
}

/// Runs `crash`, in which `count` threads crash at the same time.
///
/// Repeats the run if the ring lacks a thread: the first crashing thread waits for the others only until a deadline.
func crashTogether(_ count: UInt32, _ crash: () throws -> Outcome) rethrows -> Outcome {
  var outcome = try crash()
  for _ in 0..<3 where outcome.spool.committed_count < count { outcome = try crash() }
  return outcome
}

@Suite("A crash", .enabled(if: cs_test_can_run()))
struct CrashTests {
  static let signals: [(cs_test_way, Int32)] = [
    (.CS_TEST_SEGV, SIGSEGV), (.CS_TEST_BUS, SIGBUS), (.CS_TEST_ABRT, SIGABRT), (.CS_TEST_ILL, SIGILL),
    (.CS_TEST_TRAP, SIGTRAP), (.CS_TEST_FPE, SIGFPE), (.CS_TEST_SYS, SIGSYS),
  ]

  @Test(
    "a crash leaves one complete record, and the process ends by the same signal as without the shield",
    arguments: CrashTests.signals)
  func signalIsKept(way: cs_test_way, signal: Int32) throws {
    let outcome = try crash(way)
    #expect(outcome.signal == signal)
    #expect(outcome.spool.file_count == 1)
    #expect(outcome.spool.partial_count == 0)
    #expect(outcome.spool.mode == 0o600)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.bad_checksum_count == 0)
    #expect(outcome.spool.signal == signal)
    #expect(outcome.spool.frame_count > 3)
    #expect(outcome.spool.flags == 0)
    #expect(outcome.spool.image_count > 1)
  }

  @Test("the record of a crash by a sent signal names the sender")
  func sender() throws {
    let outcome = try crash(.CS_TEST_SENT)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.code == SI_USER)
    #expect(outcome.spool.sender_pid == outcome.spool.pid)
  }

  @Test("the record of a stack overflow has the innermost and the outermost frames")
  func stackOverflow() throws {
    let outcome = try crash(.CS_TEST_STACK_OVERFLOW)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.frame_head == 128)
    #expect(outcome.spool.frame_count >= 192)
    #expect(outcome.spool.frame_total > 1000)
    #expect(outcome.spool.unwind_stop == cs_unwind_stop.CS_UNWIND_STOP_END.rawValue)
  }

  @Test(
    "the record of a call through a bad pointer has the caller as a guessed frame",
    arguments: [cs_test_way.CS_TEST_BAD_CALL, .CS_TEST_CALL_OF_DATA])
  func badCall(way: cs_test_way) throws {
    let outcome = try crash(way)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.frame_count > 3)
    #expect(outcome.spool.frame1_trust == UInt32(cs_ring_trust.CS_RING_TRUST_SCAN.rawValue))
  }

  @Test("a crash with an overwritten stack is recorded, even if the unwinder finds few frames")
  func smashedStack() throws {
    let outcome = try crash(.CS_TEST_SMASHED_STACK)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.frame_count >= 1)
    #expect(outcome.spool.unwind_stop != cs_unwind_stop.CS_UNWIND_STOP_END.rawValue)
  }

  @Test("a crash of the handler itself leaves a minimal record and the original signal")
  func handlerCrashes() throws {
    let outcome = try crash(.CS_TEST_IN_HANDLER)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.bad_checksum_count == 0)
    #expect(outcome.spool.record_minimal == 1)
    #expect(outcome.spool.flags == CS_RING_RECORD_MINIMAL)
    #expect(outcome.spool.frame_count == 1)
  }

  @Test(
    "a crash of several threads at once leaves a record of each thread",
    arguments: [(cs_test_way.CS_TEST_EIGHT_THREADS, UInt32(8)), (.CS_TEST_ALL_THREADS, 64)])
  func manyThreads(way: cs_test_way, count: UInt32) throws {
    let outcome = try crashTogether(count) { try crash(way) }
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.file_count == 1)
    #expect(outcome.spool.committed_count == count)
    #expect(outcome.spool.slot_head == UInt64(count))
    #expect(outcome.spool.writing_count == 0)
    #expect(outcome.spool.bad_checksum_count == 0)
  }

  @Test("if a slot is half-written, a crash uses another slot")
  func abandonedSlot() throws {
    let outcome = try crash(.CS_TEST_ABANDONED_SLOT)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.writing_count == 1)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.slot_head == 2)
  }

  @Test("a crash is spooled even if the program has overwritten the ring's counts")
  func wildCounts() throws {
    let outcome = try crash(.CS_TEST_WILD_COUNTS)
    #expect(outcome.signal == SIGABRT && outcome.spool.signal == SIGABRT)
    #expect(outcome.spool.image_count == UInt32.max)
    #expect(outcome.spool.empty_count == 0)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.bad_checksum_count == 0)
  }

  @Test("a crash never takes a slot that another thread has just claimed")
  func lateClaim() throws {
    try withTemporaryDirectory { directory in
      // The C string is valid during the call.
      #expect(unsafe cs_test_run_late_claim(directory) == 0)
    }
  }

  @Test("a crash is spooled when the process has no descriptor left")
  func noDescriptors() throws {
    let outcome = try crash(.CS_TEST_NO_DESCRIPTORS)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1)
  }

  @Test("a crash is spooled when another thread briefly holds the reserved descriptor")
  func stolenDescriptor() throws {
    let outcome = try crash(.CS_TEST_STOLEN_DESCRIPTOR)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1)
  }

  @Test("a process that found no daemon at its start sends its ring and images to a daemon that runs at its crash")
  func connects() throws {
    try withTemporaryDirectory { directory in
      var waitStatus: Int32 = -1
      // Invariant: the C string is valid during the call, and the call writes the status before it returns.
      let unsatisfiedLine = unsafe cs_test_run_crash_connects(directory, &waitStatus)
      #expect(unsatisfiedLine == 0)
      #expect(waitStatus & 0x7f == SIGSEGV)
      var spool = cs_test_spool()
      let isReadable = unsafe cs_test_read_spool(directory, &spool)
      #expect(isReadable)
      #expect(spool.file_count == 0)
    }
  }

  @Test("a crash is spooled when the program has closed the shield's descriptors and reused their numbers")
  func closedDescriptors() throws {
    let outcome = try crash(.CS_TEST_CLOSED_DESCRIPTORS)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1)
  }

  @Test("a crash is captured while another thread is in a dl_iterate_phdr callback")
  func loaderLock() throws {
    let outcome = try crash(.CS_TEST_LOADER_LOCK)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.frame_count > 3)
  }

  @Test(
    "F5: a crash reaches crashd when the program has closed all descriptors",
    arguments: [cs_test_way.CS_TEST_ONCE_ATTACHED, .CS_TEST_ATTACHED_CLOSED])
  func attached(way: cs_test_way) throws {
    try withTemporaryDirectory { directory in
      var waitStatus: Int32 = -1
      // Invariant: the C string is valid during the call, and the call writes the status before it returns.
      let unsatisfiedLine = unsafe cs_test_run_attached(way, directory, &waitStatus)
      #expect(unsatisfiedLine == 0)
      #expect(waitStatus & 0x7f == SIGSEGV)
      var spool = cs_test_spool()
      let isReadable = unsafe cs_test_read_spool(directory, &spool)
      #expect(isReadable)
      #expect(spool.file_count == 0)
    }
  }
}

@Suite("The spool copy of an announced crash", .enabled(if: cs_test_can_run()))
struct CopyTests {
  /// Returns the contents of the spool after a crash that the process also announced to crashd.
  ///
  /// `mode` is the mode of the spool directory before the crash. It is nil if there was no directory.
  private func spool(mode: mode_t?) throws -> cs_test_spool {
    try withTemporaryDirectory { directory in
      let path = "\(directory)/spool"
      if let mode { try #require(unsafe mkdir(path, 0o700) == 0 && chmod(path, mode) == 0) }
      var waitStatus: Int32 = -1
      // Invariant: the C string is valid during the call, and the call writes the status before it returns.
      let unsatisfiedLine = unsafe cs_test_run_attached(.CS_TEST_ONCE_ATTACHED, directory, &waitStatus)
      #expect(unsatisfiedLine == 0)
      #expect(waitStatus & 0x7f == SIGSEGV)
      var spool = cs_test_spool()
      try #require(unsafe cs_test_read_spool(directory, &spool))
      return spool
    }
  }

  @Test(
    "a crash that the process announced to crashd is also in the spool, with its sweep",
    arguments: [(0o1733, 0o600), (0o3733, 0o640)])
  func copy(directory: mode_t, file: UInt32) throws {
    let spool = try spool(mode: directory)
    #expect(spool.file_count == 1)
    #expect(spool.partial_count == 0)
    #expect(spool.empty_count == 0)
    #expect(spool.mode == file)
    #expect(spool.committed_count == 1)
    #expect(spool.bad_checksum_count == 0)
    #expect(spool.sweep == cs_ring_sweep.CS_RING_SWEEP_DONE.rawValue)
    #expect(spool.image_count > 1)
  }

  @Test(
    "an announced crash is not spooled if no daemon would remove the copy, and creates no spool directory",
    arguments: [nil, 0o700] as [mode_t?])
  func none(directory: mode_t?) throws {
    let spool = try spool(mode: directory)
    #expect(spool.file_count == 0)
    #expect(spool.partial_count == 0)
  }
}

@Suite("The handlers leave the program unchanged", .enabled(if: cs_test_can_run()))
struct TransparencyTests {
  @Test("an earlier handler runs once and returns to the program, with errno unchanged")
  func previousHandler() throws {
    #expect(try crash(.CS_TEST_PREVIOUS_RETURNS).exitCode == 0)
  }

  @Test("a signal that the program ignores is not recorded as a crash")
  func ignoredSignal() throws {
    let outcome = try crash(.CS_TEST_IGNORED)
    #expect(outcome.exitCode == 0)
    #expect(outcome.spool.file_count == 0)
  }

  @Test("a forked child's crash is not recorded in its parent's ring")
  func forkedChild() throws {
    let outcome = try crash(.CS_TEST_FORKED_CHILD)
    #expect(outcome.exitCode == 0)
    #expect(outcome.spool.file_count == 0)
  }

  @Test("a forked child that restarts the shield has a ring of its own")
  func forkedChildStarts() throws {
    let outcome = try crash(.CS_TEST_CHILD_STARTS)
    #expect(outcome.exitCode == 0)
    #expect(outcome.spool.file_count == 1)
    #expect(outcome.spool.committed_count == 1)
  }

  @Test("a crash of a vfork child ends the child by its signal and changes nothing in its parent")
  func vforkedChild() throws {
    let outcome = try crash(.CS_TEST_VFORKED_CHILD)
    #expect(outcome.exitCode == 0)
    #expect(outcome.spool.file_count == 0)
  }
}
