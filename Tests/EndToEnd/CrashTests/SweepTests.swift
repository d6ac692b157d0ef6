import CrashMaker
import CrashReport
import Glibc
import Testing

/// Tests of the thread sweep, which records the stacks of all threads other than the crashing one.
@Suite(.sharedDaemon, .serialized)
struct SweepTests {
  @Test("the report of a crash has the stacks of the other threads")
  func otherThreads() async throws {
    let (report, pid) = try await crash("array-index", ["--thread", "pthread"])
    #expect(report.threads.first?.crashed == true)
    #expect(report.threads.filter(\.crashed).count == 1)
    #expect(report.losses.isEmpty)
    let main = try #require(report.threads.first { $0.tid == Int(pid) })
    #expect(!main.crashed && main.signal == nil && main.silence == nil)
    // The main thread waits in `crashInThread` for the thread that crashes.
    #expect(main.frames.contains { $0.function.contains("crashInThread") && $0.isOwn }, "\(main.listing)")
    #expect(main.stackFrames.last?.function == "_start", "\(main.listing)")
  }

  @Test("the report has the name of another thread's task, and the functions that await the task")
  func otherTask() async throws {
    let report = try await crash("task-beside-task").report
    let thread = try #require(report.threads.first { $0.task?.name == Scenario.waitingTask })
    #expect(!thread.crashed)
    #expect(thread.stackFrames.contains { $0.function.contains("countShelf") }, "\(thread.listing)")
    var callers = thread.frames.filter(\.isAsync)[...]
    for caller in Scenario.waitingCallers {
      callers = callers.drop { !$0.function.contains(caller) }
      #expect(!callers.isEmpty, "\(caller) is not among the async callers, in order:\n\(thread.listing)")
    }
  }

  @Test("with CRASHSHIELD_SWEEP_MS=0 a report has only the crashing thread")
  func switchedOff() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run(
      "array-index", ["--wait-attached"],
      environment: daemon.place.environment.merging(["CRASHSHIELD_SWEEP_MS": "0"]) { $1 })
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    #expect(report.threads.map(\.crashed) == [true])
  }

  /// Crashes a program, and returns the report and the program's pid.
  ///
  /// Repeats the crash up to two times if a thread did not answer the thread sweep.
  private func crash(_ scenario: String, _ options: [String] = []) async throws -> (report: CrashReport, pid: pid_t) {
    var found = try await crashOnce(scenario, options)
    for _ in 0..<2 where found.report.threads.contains(where: { $0.silence != nil }) {
      found = try await crashOnce(scenario, options)
    }
    return found
  }

  private func crashOnce(_ scenario: String, _ options: [String]) async throws -> (report: CrashReport, pid: pid_t) {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run(
      scenario, ["--wait-attached"] + options, environment: daemon.place.environment)
    let reports = try await daemon.reports(of: crash.pid)
    #expect(reports.count == 1)
    return (try #require(reports.first), crash.pid)
  }
}
