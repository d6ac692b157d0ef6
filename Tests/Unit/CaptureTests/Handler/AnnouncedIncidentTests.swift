import CTestKit
import Glibc
import Testing

@Suite("How incidents wake crashd", .enabled(if: cs_test_can_run()))
struct AnnouncedIncidentTests {
  /// The line of the kit that was not satisfied, and the wait status of the process.
  private func run(_ way: cs_test_incident_way) throws -> [Int32] {
    var status: Int32 = -1
    // A Swift string passed as a C string lives for the call, which keeps nothing of it.
    return try withTemporaryDirectory { [unsafe cs_test_run_incidents(way, $0, &status), status] }
  }

  @Test("100,000 incidents in a row wake crashd at most four times a second, and after the last of them")
  func coalescing() throws {
    #expect(try run(.CS_TEST_INCIDENT_MANY) == [0, 0])
  }

  @Test("an incident of a signal handler wakes crashd")
  func handler() throws {
    #expect(try run(.CS_TEST_INCIDENT_IN_HANDLER) == [0, 0])
  }

  @Test("a crashd that takes no incident wake-ups gets none, and its first one is the crash's")
  func oldDaemon() throws {
    #expect(try run(.CS_TEST_INCIDENT_OLD_CRASHD) == [0, SIGSEGV])
  }

  @Test(
    "incidents wake crashd also after the shield's threads have stepped aside", .enabled(if: cs_test_can_unshare()))
  func aside() throws {
    #expect(try run(.CS_TEST_INCIDENT_ASIDE) == [0, 0])
  }

  @Test("a process that cannot wake crashd says so in its ring, until it can")
  func queue() throws {
    #expect(try run(.CS_TEST_INCIDENT_NO_QUEUE) == [0, 0])
  }
}
