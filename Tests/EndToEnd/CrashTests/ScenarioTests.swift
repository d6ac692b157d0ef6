import CrashMaker
import CrashReport
import Testing

/// Tests each scenario end to end: handler, ring, crashd, symbolication, store and client.
@Suite(.sharedDaemon, .serialized)
struct ScenarioTests {
  @Test("a scenario has one report with signal, reason, function and line", arguments: Scenario.runnable.map(\.name))
  func report(name: String) async throws {
    try await check(try #require(Scenario.named(name)))
  }

  @Test(
    "a scenario has the same report on each kind of thread",
    arguments: [CrashRun.Thread.dispatch, .task, .pthread])
  func report(thread: CrashRun.Thread) async throws {
    for name in ["array-index", "null-write", "abort"] {
      try await check(try #require(Scenario.named(name)), ["--thread", thread.rawValue])
    }
  }

  @Test("the report of an optimized program is as complete as that of a debug build", Binaries.ofRelease)
  func optimized() async throws {
    let program = try Binaries.optimizedCrashMaker()
    for scenario in Scenario.runnable(isOptimized: true, isStatic: false) where scenario.isReported {
      try await check(scenario, program: program, isOptimized: true)
    }
  }

  @Test("a report has the program's annotations and breadcrumbs")
  func annotations() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("raise", ["--wait-attached", "--mark"], environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    #expect(report.annotations["scenario"] == "raise")
    #expect(report.annotations["fault-monotonic-ns"].flatMap { Int($0) } != nil)
    #expect(report.breadcrumbs.last?.text == "about to crash: raise")
    #expect(report.process.name == "crash-maker")
  }

  @Test("the report of a signal from another process names the sender")
  func sender() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("kill-from-outside", ["--wait-attached"], environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    let sender = try #require(report.signal.sender)
    #expect(report.signal.code == 0)
    #expect(sender.pid != Int(crash.pid) && sender.pid > 0)
    #expect(sender.uid == report.process.uid)
  }

  @Test("the report of a crash in a task shows the awaiting functions", arguments: Binaries.builds)
  func asyncCallers(build: String) async throws {
    let program = try build == "optimized" ? Binaries.optimizedCrashMaker() : nil
    var scenario = try #require(Scenario.named("array-index"))
    scenario.asyncCallers = ["runHandler", "handleRequest"]
    try await check(scenario, ["--thread", "task"], program: program)
  }

  /// Checks that the process ends as expected, and that exactly one report matches the scenario.
  private func check(
    _ scenario: Scenario, _ options: [String] = [], program: String? = nil, isOptimized: Bool = Binaries.areInstalled
  ) async throws {
    let run =
      options.isEmpty
      ? try await ScenarioRun.shared(scenario, program: program)
      : try await ScenarioRun(scenario, options, program: program)
    #expect(try scenario.complaint(about: run.crash) == nil, "\(scenario.name)")
    let findings = try Findings(run.reports, of: scenario, isOptimized: isOptimized, mayLoseThreads: true)
    if scenario.hasGap(on: scenario.threads[0]) && scenario.isReported { return }
    #expect(findings.all.isEmpty, "\(scenario.name)")
  }
}
