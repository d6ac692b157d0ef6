import CShim
import CShimRing
import CTestKit
import CrashShield
import Glibc
import Testing

@Suite("How incidents wake crashd", .enabled(if: cs_test_can_run()))
struct AnnouncedIncidentTests {
  /// Returns the line of the failed check in CTestKit (0 if none failed), and the wait status of the process.
  private func run(_ way: cs_test_incident_way) throws -> [Int32] {
    var status: Int32 = -1
    // Invariant: the C string is valid during the call, and the function does not keep the pointer.
    return try withTemporaryDirectory { [unsafe cs_test_run_incidents(way, $0, &status), status] }
  }

  @Test("100,000 incidents in a row wake crashd at most four times a second, and once after the last incident")
  func coalescing() throws {
    #expect(try run(.CS_TEST_INCIDENT_MANY) == [0, 0])
  }

  @Test("an incident of a signal handler wakes crashd")
  func handler() throws {
    #expect(try run(.CS_TEST_INCIDENT_IN_HANDLER) == [0, 0])
  }

  @Test("a crashd that does not support wake-ups for incidents receives only the wake-up of the crash")
  func oldDaemon() throws {
    #expect(try run(.CS_TEST_INCIDENT_OLD_CRASHD) == [0, SIGSEGV])
  }

  @Test(
    "incidents still wake crashd after the shield's threads have ended and started again",
    .enabled(if: cs_test_can_unshare()))
  func aside() throws {
    #expect(try run(.CS_TEST_INCIDENT_ASIDE) == [0, 0])
  }

  @Test("a process that cannot wake crashd for incidents states this in its ring until it can wake crashd again")
  func queue() throws {
    #expect(try run(.CS_TEST_INCIDENT_NO_QUEUE) == [0, 0])
  }
}

@Suite("The incidents that a process reads from its own ring")
struct ReadIncidentTests {
  @Test("an incident that only describes a crash is not reported to the process that survived the crash")
  func details() async {
    await #expect(processExitsWith: .exitCode(42)) {
      guard Shield.start(configuration: .init(socket: "/dev/null/attach", spool: "/dev/null/spool")).isStarted
      else { exit(1) }
      var entry = cs_ring_incident()
      func record(_ source: cs_ring_incident_source, _ kind: UInt32, _ mode: cs_mode) {
        (entry.source, entry.kind, entry.mode) = (source.rawValue, kind, mode.rawValue)
        // Invariant: the function copies the entry.
        unsafe cs_shim_incident(&entry)
      }
      record(.CS_RING_INCIDENT_QUARANTINE, cs_ring_dangling.CS_RING_DANGLING_FREED.rawValue, .CS_MODE_CRASH)
      record(.CS_RING_INCIDENT_QUARANTINE, cs_ring_dangling.CS_RING_DANGLING_HELD.rawValue, .CS_MODE_ZERO)
      record(.CS_RING_INCIDENT_PAGES, cs_ring_pages.CS_RING_PAGES_READ.rawValue, .CS_MODE_CRASH)
      record(.CS_RING_INCIDENT_GUARD, 1, .CS_MODE_ABSORB)
      let sources = (0..<UInt32(CS_RING_INCIDENT_LIMIT)).compactMap { index in
        // Invariant: the C function fills in the structure if it returns true.
        unsafe cs_shim_incident_at(index, &entry) ? entry.source : nil
      }
      exit(sources == [cs_ring_incident_source.CS_RING_INCIDENT_GUARD.rawValue] ? 42 : 2)
    }
  }
}
