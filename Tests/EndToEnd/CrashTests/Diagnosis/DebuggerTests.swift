import CrashMaker
import CrashReport
import Testing

/// Tests that the shield's handler finds the same frames as gdb: gdb unwinds the stack when the signal arrives, and the
/// handler then unwinds it in the same process.
@Suite(.sharedDaemon)
struct DebuggerTests {
  @Test("the report's frames equal gdb's frames in every scenario", arguments: Binaries.builds)
  func frames(build: String) async throws {
    let program = try build == "optimized" ? Binaries.optimizedCrashMaker() : Binaries.path("crash-maker")
    let scenarios =
      build == "optimized" ? Scenario.runnable(isOptimized: true, isStatic: false) : Scenario.runnable
    let runs =
      scenarios.filter(\.isComparable).map { "\($0.name),--wait-attached" }
      + ["dispatch", "task", "pthread"].map { "array-index,--wait-attached,--thread,\($0)" }
    let daemon = try SharedDaemon.current
    let truths = try await Debugger.unwind(runs, of: program, under: daemon)
    #expect(truths.map(\.run) == runs)
    for truth in truths {
      let arguments = truth.run.split(separator: ",").map(String.init)
      let report = try #require(try await daemon.report(of: truth.pid, arguments: arguments), "\(truth.run)")
      let thread = try #require(report.crashedThread, "\(truth.run)")
      #expect(truth.difference(from: thread) == nil, "\(truth.run)")
    }
  }
}
