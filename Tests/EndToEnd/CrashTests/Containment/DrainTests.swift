import CrashReport
import Glibc
import TestKit
import Testing

/// Tests which traps drain the process, when a drain ends, and what happens to other requests during a drain.
///
/// A process that drains finishes its running requests, and then ends. The budget is the number of traps that a process
/// contains before a trap drains it. Some tests trap while the shield starts or while the process exits.
@Suite("Drains of requests")
struct DrainTests {
  private static let requests = 24
  private static let illegal = "signal \(HostRun.trapSignal)"

  @Test("a budget of three contains three traps at once, and the fourth drains the process")
  func budget() async throws {
    let three = try await HostRun.start("index", "contain", ["--traps", "3", "--budget", "3"])
    #expect(three.end == "exit 0" && three.badTrapped == 3 && three.contained == 3 && three.incidents == 3, "\(three)")
    let four = try await HostRun.start("index", "contain", ["--traps", "4", "--budget", "3"])
    #expect(four.end == Self.illegal && four.badTrapped == 4 && four.contained == 3 && four.incidents == 3, "\(four)")
    #expect(four.reason == "budget" && four.drainEnd == "done" && four.crashes == 1, "\(four)")
    #expect(four.finishedIndependent == Self.requests, "\(four)")
  }

  @Test("a trap of code whose earlier traps have used half of the budget drains the process")
  func repeated() async throws {
    let run = try await HostRun.start("index", "contain", ["--traps", "11", "--budget", "20"])
    #expect(run.end == Self.illegal && run.reason == "repeated" && run.contained == 10, "\(run)")
    #expect(run.badTrapped == 11 && run.finishedIndependent == Self.requests, "\(run)")
  }

  @Test("with `pool: false` (no replacement of trapped threads), a trap drains the process; all other requests finish")
  func plain() async throws {
    let run = try await HostRun.start("index", "drain")
    #expect(run.end == Self.illegal && run.verdict == "drain" && run.reason == "budget", "\(run)")
    #expect(run.badTrapped == 1 && run.finishedIndependent == Self.requests && run.drains == 1, "\(run)")
    #expect(run.drainEnd == "done" && run.drainFinished == Self.requests && run.drainLost == 0, "\(run)")
    #expect(run.crashes == 1 && run.incidents == 0 && run.request == "GET /bad", "\(run)")
  }

  @Test(
    "the report of a trap that drained the process has the message, the frames and the request of the trap",
    arguments: ["drain", "contain"])
  func report(mode: String) async throws {
    try await PrivateDaemon.run { daemon in
      // A trap on an actor drains the process in both modes.
      let run = try await HostRun.start("actor", mode, ["--stall", "500"], environment: daemon.place.environment)
      #expect(run.end == Self.illegal, "\(run)")
      let report = try await daemon.firstReport(of: pid_t(run.pid))
      #expect(report.request?.operation == "GET /bad", "\(report.diagnosis.sentence)")
      #expect(report.diagnosis.sentence.contains("ndex out of range"), "\(report.diagnosis.sentence)")
      let frames = try #require(report.crashedThread?.frames)
      #expect(frames.contains { $0.isOwn && $0.function.contains("boom") }, "\(frames.map(\.function))")
    }
  }

  @Test("with `pool: false`, a drain ends after as many traps as processors, because no thread is left")
  func second() async throws {
    let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))
    let run = try await HostRun.start("index", "drain", ["--traps", "\(processors)"])
    // No thread of Swift's pool remains to resume the callers of the trapped requests, so a caller can miss its error.
    #expect(run.end == Self.illegal && run.reason == "budget" && run.crashes == processors, "\(run)")
    #expect(run.drainEnd == "secondCrash", "\(run)")
  }

  @Test("with `pool: true`, all six requests that trap get an error, and all other requests finish")
  func several() async throws {
    let run = try await HostRun.start("index", "drain-pool", ["--traps", "6"])
    #expect(run.end == Self.illegal && run.badTrapped == 6 && run.finishedIndependent == Self.requests, "\(run)")
    #expect(run.drainEnd == "done" && run.drains == 1, "\(run)")
  }

  @Test(
    "a drain ends before its deadline even if requests wait for a lock of the trapped thread",
    .enabled(if: !MatrixEmulation.isUsed, "under emulation, /proc has the emulator's own system call"),
    arguments: ["mutex", "posix-mutex", "lazy-global", "actor", "main-actor", "event-loop"],
    ["drain", "drain-pool", "contain"])
  func stall(way: String, mode: String) async throws {
    // The deadline is an hour away, so only the waiting threads, a stall or the last request can end the drain.
    let run = try await HostRun.start(way, mode, ["--stall", "500", "--grace", "3600000"])
    #expect(run.end == Self.illegal && run.crashes == 1, "\(run)")
    // If the shield detects the threads that wait for the lock, it fails their requests. Then no request is in flight,
    // and the drain can also end with `done`.
    #expect(["stall", "waiter", "done"].contains(run.drainEnd), "\(run)")
    #expect(run.finishedDependent == 0, "\(run)")
    // With replaced threads, every request gets a response or an error. In the mode `drain`, which replaces no thread,
    // the waiting threads can leave no thread for the other requests.
    if mode != "drain" {
      #expect(run.endedDependent + run.trappedDependent == Self.requests / 2, "\(run)")
      #expect(run.finishedIndependent == Self.requests / 2, "\(run)")
    }
  }

  @Test("the connections of an event loop that trapped are closed before the drain ends")
  func loop() async throws {
    let run = try await HostRun.start("event-loop", "contain", ["--stall", "500"])
    #expect(run.end == Self.illegal && run.cutOff == 5, "\(run)")
  }

  @Test("a drain ends at its deadline, even if requests are still running")
  func deadline() async throws {
    // `--stall 0` disables the rule that ends a drain without progress.
    let run = try await HostRun.start("actor", "contain", ["--stall", "0", "--grace", "500"])
    #expect(run.end == Self.illegal && run.drainEnd == "deadline", "\(run)")
    #expect(run.finishedIndependent == Self.requests / 2 && run.endedDependent == Self.requests / 2, "\(run)")
  }

  @Test(
    "if the program calls exit() during a drain, the process still ends by the signal of the trap",
    arguments: ["drain", "drain-pool"])
  func exits(mode: String) async throws {
    let run = try await HostRun.start("index", mode, ["--exits", "1"])
    #expect(run.end == Self.illegal && run.crashes == 1, "\(run)")
    #expect(run.drainEnd == "exit" || run.drainEnd == "done", "\(run)")
  }

  @Test("a trap in a forked child ends only the child, not the parent")
  func child() async throws {
    let run = try await HostRun.start("forked-child", "contain")
    #expect(run.end == "exit 0" && run.childEnd == Int(HostRun.trapSignal) && run.contained == 0, "\(run)")
    #expect(run.badReturned == 1 && run.finishedIndependent == Self.requests, "\(run)")
  }

  @Test(
    "a trap while the shield starts, or while the process exits, does not hang the process",
    arguments: ["start", "exit"])
  func moments(moment: String) async throws {
    for mode in ["drain", "drain-pool", "contain"] {
      let run = try await HostRun.start("index", mode, ["--moment", moment, "--requests", "4", "--traps", "2"])
      #expect(run.end == Self.illegal || run.end == "exit 0", "\(mode): \(run)")
    }
  }

  @Test("a drain does not end while requests of random durations progress", arguments: ["drain", "contain"])
  func progress(mode: String) async throws {
    let options = ["--moment", "before", "--requests", "2000", "--longest", "400", "--stall", "6000", "--budget", "1"]
    // A trap on an actor drains the process in both modes.
    let run = try await HostRun.start("actor", mode, options)
    #expect(run.end == Self.illegal && run.drainEnd == "done", "\(run)")
    #expect(run.finishedIndependent == 2_000 && run.endedIndependent == 0, "\(run)")
  }

  @Test("contained traps under load leak no descriptor, and each trap is reported once")
  func load() async throws {
    let options = ["--moment", "load", "--requests", "5000", "--traps", "16", "--budget", "40"]
    let run = try await HostRun.start("index", "contain", options)
    #expect(run.end == "exit 0" && run.badTrapped == 16 && run.contained == 16 && run.incidents == 16, "\(run)")
    #expect(run.finishedIndependent == 7_000 - 16 && run.serial == 0, "\(run)")
    #expect(run.filesAfter <= run.filesBefore, "\(run)")
  }
}
