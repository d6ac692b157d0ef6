import CTestKit
import CrashShield
import Glibc
import Testing

/// The thread that runs the deinits which absorb puts off.
@Suite(.enabled(if: Shield.danglingUnavailableReason == nil, "the quarantine steps aside here"))
struct ReaperTests {
  @Test("S5: under absorb a release wakes no other thread, and each deinit runs all the same")
  func silent() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let count = 20_000
      try Shield.protect(Session.self, policy: .absorb, limit: 10)
      onThreads(1) { _ in
        // What a thread does once, and what begins with the first object.
        for _ in 0..<100 { Self.releaseOne() }
        check(cs_test_forbid_wakes())
        for _ in 100..<count { Self.releaseOne() }
      }
      // The reaper finds what waits by itself. Twelve objects are in their places; of the others each has left.
      while deinitCount() < count - 12 { usleep(1000) }
      Shield.drainQuarantine()
      check(deinitCount() == count)
      Glibc.exit(right)
    }
  }

  private static func releaseOne() {
    let object = Session()
    withExtendedLifetime(object) {}
  }
}
