import CrashMaker
import CrashReport

/// A run of crash-maker with crashd, and the reports of the crashed process.
struct ScenarioRun: Sendable {
  var crash: Crasher.Outcome
  var reports: [CrashReport]

  /// Runs a scenario with the suite's crashd, and waits until its reports are stored.
  ///
  /// The process has no limit for core dumps, because ExitStatusTests compares whether it ends with one.
  init(_ scenario: Scenario, _ options: [String] = [], program: String? = nil) async throws {
    let daemon = try SharedDaemon.current
    crash = try await Crasher.run(
      scenario.name, ["--wait-attached"] + options, environment: daemon.place.environment, program: program,
      coreLimit: .unlimited)
    reports = try await daemon.reports(of: crash.reportedPid(of: scenario))
    scenario.endChild(of: crash)
  }

  /// Returns the run of a scenario that all suites share.
  ///
  /// Several suites check the reports or the exit status of all scenarios. The first one runs the scenario with its own
  /// crashd, and the others get the result. Without this, each scenario would crash once for each suite.
  static func shared(_ scenario: Scenario, program: String? = nil) async throws -> ScenarioRun {
    try await SharedRuns.all.run(of: scenario, program: program)
  }
}

/// The runs that suites share, by program and scenario.
private actor SharedRuns {
  static let all = SharedRuns()

  private var runs: [String: Task<ScenarioRun, any Error>] = [:]

  func run(of scenario: Scenario, program: String?) async throws -> ScenarioRun {
    let name = "\(program ?? "") \(scenario.name)"
    if let run = runs[name] { return try await run.value }
    // The task inherits the task-local value `SharedDaemon.current` from the suite, which waits for the result.
    let run = Task { try await ScenarioRun(scenario, program: program) }
    runs[name] = run
    return try await run.value
  }
}
