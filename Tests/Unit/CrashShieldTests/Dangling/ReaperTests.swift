import CTestKit
import CrashShield
import Glibc
import Testing

/// Tests the reaper, which is the thread that runs the deinits that the policy `absorb` defers.
@Suite(.enabled(if: Shield.danglingUnavailableReason == nil, "the quarantine is unavailable here"))
struct ReaperTests {
  @Test("S5: under absorb a release wakes no other thread, and each deinit still runs")
  func silent() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let count = 20_000
      try Shield.protect(Session.self, policy: .absorb, limit: 10)
      onThreads(1) { _ in
        // The first releases also do one-time work for the thread and for the class, which may wake threads.
        for _ in 0..<100 { Self.releaseOne() }
        check(cs_test_forbid_wakes())
        for _ in 100..<count { Self.releaseOne() }
      }
      // The reaper finds the objects to evict when its own timer wakes it. Twelve objects remain in the slots of the
      // quarantine.
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
