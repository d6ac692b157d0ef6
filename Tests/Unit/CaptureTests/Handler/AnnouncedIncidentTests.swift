import CTestKit
import Glibc
import Testing

@Suite("How incidents wake crashd", .enabled(if: cs_test_can_run()))
struct AnnouncedIncidentTests {
  /// Returns the line of the failed check in the C test kit, and the wait status of the process.
  private func run(_ way: cs_test_incident_way) throws -> [Int32] {
    var status: Int32 = -1
    // Swift passes a C string that is valid during the call; the function keeps no pointer to it.
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

  @Test("a crashd that does not support wake-ups for incidents receives none; the crash is the first wake-up")
  func oldDaemon() throws {
    #expect(try run(.CS_TEST_INCIDENT_OLD_CRASHD) == [0, SIGSEGV])
  }

  @Test(
    "incidents still wake crashd after the shield's threads have stepped aside", .enabled(if: cs_test_can_unshare()))
  func aside() throws {
    #expect(try run(.CS_TEST_INCIDENT_ASIDE) == [0, 0])
  }

  @Test("a process that cannot wake crashd records this in its ring, until it can wake crashd again")
  func queue() throws {
    #expect(try run(.CS_TEST_INCIDENT_NO_QUEUE) == [0, 0])
  }
}
