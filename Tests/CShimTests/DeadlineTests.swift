import CShim
import CShimRing
import CShimTestSupport
import Glibc
import Testing

@Suite("A handler that does not get on", .enabled(if: cs_test_can_run()), .serialized)
struct DeadlineTests {
  /// Runs a child whose handler meets trouble on each of its crashing threads.
  private func crash(_ trouble: cs_trouble, at places: [cs_trouble_place], threads: UInt32 = 1) throws -> Outcome {
    try withTemporaryDirectory { directory in
      let mask = places.reduce(0) { $0 | $1.rawValue }
      // As in crash(_:): the strings and the summary live for the calls.
      let waitStatus = unsafe cs_test_run_in_trouble(trouble.rawValue, mask, threads, directory)
      var spool = cs_test_spool()
      let isReadable = unsafe cs_test_read_spool(directory, &spool)
      try #require(isReadable)
      return Outcome(waitStatus: waitStatus, spool: spool)
    }
  }

  static let kinds: [cs_trouble] = [.CS_TROUBLE_SLEEP, .CS_TROUBLE_LOOP, .CS_TROUBLE_DEAF]
  static let late = CS_RING_RECORD_MINIMAL | CS_RING_RECORD_LATE

  @Test(
    "before it commits is made to commit what it has, and the process ends by its signal", arguments: kinds,
    [cs_trouble_place.CS_TROUBLE_REGISTERS, .CS_TROUBLE_STACK, .CS_TROUBLE_COMMIT])
  func recordIsCommitted(trouble: cs_trouble, place: cs_trouble_place) throws {
    let outcome = try crash(trouble, at: [place])
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.bad_checksum_count == 0)
    #expect(outcome.spool.record_minimal == 1)
    #expect(outcome.spool.flags == Self.late)
    #expect(outcome.spool.signal == SIGSEGV)
    let hasFrames = place == .CS_TROUBLE_COMMIT
    #expect(hasFrames ? outcome.spool.frame_count > 3 : outcome.spool.frame_count == 1)
  }

  @Test(
    "after it committed leaves the record whole, and the process ends by its signal", arguments: kinds,
    [cs_trouble_place.CS_TROUBLE_DELIVERY, .CS_TROUBLE_SWEEP])
  func processEnds(trouble: cs_trouble, place: cs_trouble_place) throws {
    let outcome = try crash(trouble, at: [place])
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.bad_checksum_count == 0)
    #expect(outcome.spool.flags == 0)
    #expect(outcome.spool.record_minimal == 0)
  }

  @Test("on two threads at once leaves both records", arguments: kinds)
  func twoThreads(trouble: cs_trouble) throws {
    let outcome = try crash(trouble, at: [.CS_TROUBLE_STACK], threads: 2)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 2)
    #expect(outcome.spool.writing_count == 0)
    #expect(outcome.spool.bad_checksum_count == 0)
  }

  @Test("because of its disk ends by its signal", arguments: kinds)
  func spool(trouble: cs_trouble) throws {
    let outcome = try crash(trouble, at: [.CS_TROUBLE_SPOOL])
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.file_count == 0)
  }

  @Test("because of a disk that holds up the watcher as well is ended by the kernel")
  func watcher() throws {
    let outcome = try crash(.CS_TROUBLE_DEAF, at: [.CS_TROUBLE_REGISTERS, .CS_TROUBLE_SPOOL])
    #expect(outcome.signal == SIGKILL)
  }
}
