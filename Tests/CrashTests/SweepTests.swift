import CrashMaker
import CrashReport
import Testing

/// The threads beside the one that crashed.
@Suite(.sharedDaemon, .serialized)
struct SweepTests {
  @Test("the other threads' stacks are in the same report")
  func otherThreads() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run(
      "array-index", ["--wait-attached", "--thread", "pthread"], environment: daemon.place.environment)
    let reports = try await daemon.reports(of: crash.pid)
    #expect(reports.count == 1)
    let report = try #require(reports.first)
    #expect(report.threads.first?.crashed == true)
    #expect(report.threads.filter(\.crashed).count == 1)
    #expect(report.losses.isEmpty)
    let main = try #require(report.threads.first { $0.tid == Int(crash.pid) })
    #expect(!main.crashed && main.signal == nil && main.silence == nil)
    // It waits for the thread that crashed.
    #expect(main.frames.contains { $0.function.contains("crashInThread") && $0.isOwn }, "\(main.listing)")
    #expect(main.stackFrames.last?.function == "_start", "\(main.listing)")
  }

  @Test("of another thread's task the name is told, and the functions that await it")
  func otherTask() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("task-beside-task", ["--wait-attached"], environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    let thread = try #require(report.threads.first { $0.task?.name == Scenario.waitingTask })
    #expect(!thread.crashed)
    #expect(thread.stackFrames.contains { $0.function.contains("countShelf") }, "\(thread.listing)")
    var callers = thread.frames.filter(\.isAsync)[...]
    for caller in Scenario.waitingCallers {
      callers = callers.drop { !$0.function.contains(caller) }
      #expect(!callers.isEmpty, "\(caller) is not among the async callers, in order:\n\(thread.listing)")
    }
  }

  @Test("CRASHSHIELD_SWEEP_MS=0 leaves only the crashed thread")
  func switchedOff() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run(
      "array-index", ["--wait-attached"],
      environment: daemon.place.environment.merging(["CRASHSHIELD_SWEEP_MS": "0"]) { $1 })
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    #expect(report.threads.map(\.crashed) == [true])
  }
}
