import CrashClient
import CrashMaker
import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

/// Tests the unwind cross-check: crash-analyse unwinds a copy of the stack again, with libunwind and in a process of
/// its own, and crashd compares the frames with the handler's.
@Suite(.sharedDaemon, .serialized)
struct UnwindingTests {
  @Test(
    "the unwind cross-check finds the same frames as the handler",
    arguments: [
      "array-index", "null-write", "null-call", "memcpy-bad-pointer", "qsort-callback", "abort", "cxx-terminate",
    ])
  func agreement(scenario: String) async throws {
    try await check(scenario)
  }

  @Test(
    "the unwind cross-check agrees with the handler in an optimized program", Binaries.ofRelease,
    arguments: ["array-index", "null-call", "memcpy-bad-pointer", "qsort-callback"])
  func optimized(scenario: String) async throws {
    try await check(scenario, program: Binaries.optimizedCrashMaker())
  }

  @Test(
    "the unwind cross-check agrees with the handler on a Dispatch thread, and in a task",
    arguments: [CrashRun.Thread.dispatch, .task, .pthread])
  func threads(thread: CrashRun.Thread) async throws {
    try await check("array-index", ["--thread", thread.rawValue])
  }

  @Test("the unwind cross-check works after the running program's file is deleted")
  func deleted() async throws {
    let directory = try TestDirectory()
    let copy = directory.path + "/crash-maker"
    try await run("/bin/cp", [Binaries.path("crash-maker"), copy])
    let report = try await check("null-write", program: copy)
    #expect(unsafe unlink(copy) == 0)
    let client = try SharedDaemon.current.client
    let again = try await blocking { try client.reanalyse(id: report.id) }
    #expect(!again.changed)
    #expect(again.report.report.unwinding?.map(\.agreement) == [.equal])
  }

  @Test("the varlink method Status counts the results of the unwind cross-check")
  func counts() async throws {
    let daemon = try SharedDaemon.current
    let client = daemon.client
    let before = try await blocking { try client.status() }
    try await check("null-write")
    let after = try await blocking { try client.status() }
    #expect((after.unwindings?["equal"] ?? 0) == (before.unwindings?["equal"] ?? 0) + 1)
    #expect(after.unwindings?["different"] == nil && after.unwindings?["failed"] == nil)
  }

  @discardableResult
  private func check(_ scenario: String, _ options: [String] = [], program: String? = nil) async throws -> CrashReport {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run(
      scenario, ["--wait-attached"] + options, environment: daemon.place.environment, program: program)
    var report = try #require(try await daemon.reports(of: crash.pid).first)
    // crashd sends no event when the cross-check agrees, so the test polls the report. The loop also ends when the
    // status counts a failed cross-check, because the report then never gets a result.
    let client = daemon.client
    let failed = "failed"
    while report.unwinding == nil, try await blocking({ try client.status() }).unwindings?[failed] == nil {
      report = try #require(try await daemon.reports(of: crash.pid).first)
    }
    let unwinding = try #require(report.unwinding?.first, "\(scenario) was not unwound again")
    let thread = try #require(report.crashedThread)
    #expect(unwinding.agreement == .equal, "\(scenario): \(unwinding)\n\(thread.listing)")
    #expect(unwinding.tid == thread.tid && unwinding.shown == .handler && unwinding.others.isEmpty)
    let addresses = thread.frames.filter { !$0.isAsync && !$0.isInline }.map(\.address)
    #expect(unwinding.found == addresses.count && addresses.count > 3, "\(scenario): \(unwinding)\n\(thread.listing)")
    return report
  }

  private func run(_ program: String, _ arguments: [String]) async throws {
    let child = try ChildProcess.start(program, arguments, ChildProcess.Options())
    #expect(try await child.wait().code == 0)
  }
}
