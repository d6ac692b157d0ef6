import CrashMaker
import CrashRing
import Testing

/// Tests a crash while other threads of the process wait in system calls.
@Suite("F4, D1: a crash while the main thread waits")
struct WaitTests {
  @Test(
    "a crash beside a waiting main thread ends the process by its signal, whatever call the sweep interrupts",
    arguments: Scenario.waits.map(\.name))
  func signal(scenario: String) throws {
    // Without a crash, `capture` finds no ring, and throws.
    let contents = try capture(scenario)
    #expect(contents.records.map(\.signal) == [11])
    #expect(contents.threads.count >= 1)
  }

  @Test(
    "C-H1: a main thread that waits for all signals does not receive the sweep's SIGPROF",
    arguments: ["sigtimedwait-all", "sigwaitinfo-all", "sigwait-all", "sigwait-profiling", "signalfd-all"])
  func threadThatTakesSignals(way: String) throws {
    let contents = try capture("main-waits-\(way)")
    #expect(contents.records.map(\.signal) == [11])
    // A set, because ThreadSanitizer has an internal thread that also blocks all signals.
    #expect(Set(contents.threads.map(\.answer)) == [.blocked])
  }

  @Test(
    "without a sweep, a crash while the main thread waits ends the process by its signal",
    arguments: [
      "busy", "pause", "epoll-wait", "sem-timedwait", "sigwait", "read", "sigwait-all", "sigwait-profiling",
      "signalfd-all", "epoll-all", "profiled",
    ])
  func signalWithoutSweep(way: String) throws {
    let contents = try capture("main-waits-\(way)", environment: ["CRASHSHIELD_SWEEP_MS": "0"])
    #expect(contents.records.map(\.signal) == [11])
    #expect(contents.threads.isEmpty)
  }

  @Test(
    "a crash ends the process by its signal if a later handler calls the shield's handler",
    arguments: [
      "pause", "sleep", "epoll-wait", "sigtimedwait", "sem-timedwait", "recv-timeout", "sigwait-all", "signalfd-all",
    ])
  func signalBehindHandler(way: String) throws {
    let contents = try capture("main-waits-\(way)", environment: ["CRASH_MAKER_HANDLER": "slow"])
    #expect(contents.records.map(\.signal) == [11])
  }
}
