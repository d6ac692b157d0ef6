import CrashMaker
import CrashRing
import Testing

/// The other threads of a process that a crash ends.
@Suite("F4, D1: a crash beside a main thread that waits")
struct WaitTests {
  @Test(
    "a crash beside a waiting main thread ends the process by its signal, whatever call the sweep interrupts",
    arguments: Scenario.waits.map(\.name))
  func signal(scenario: String) throws {
    // By any other end there is nothing to read.
    let contents = try capture(scenario)
    #expect(contents.records.map(\.signal) == [11])
    #expect(contents.threads.count >= 1)
  }

  @Test(
    "C-H1: a main thread that waits for all signals does not take the sweep's SIGPROF",
    arguments: ["sigtimedwait-all", "sigwaitinfo-all", "sigwait-all", "sigwait-profiling", "signalfd-all"])
  func threadThatTakesSignals(way: String) throws {
    let contents = try capture("main-waits-\(way)")
    #expect(contents.records.map(\.signal) == [11])
    // A thread of ThreadSanitizer's own blocks all signals as well.
    #expect(Set(contents.threads.map(\.answer)) == [.blocked])
  }

  @Test(
    "a crash beside a waiting main thread ends the process by its signal without a sweep",
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
    "a crash ends the process by its signal where a later handler calls the shield's",
    arguments: [
      "pause", "sleep", "epoll-wait", "sigtimedwait", "sem-timedwait", "recv-timeout", "sigwait-all", "signalfd-all",
    ])
  func signalBehindHandler(way: String) throws {
    let contents = try capture("main-waits-\(way)", environment: ["CRASH_MAKER_HANDLER": "slow"])
    #expect(contents.records.map(\.signal) == [11])
  }
}
