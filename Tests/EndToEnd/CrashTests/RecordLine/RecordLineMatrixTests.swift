import CrashMaker
import CrashReport
import Glibc
import TestKit
import Testing

/// Compares the reports that `crashctl decode` makes of record lines with crashd's reports.
///
/// A record line is the record of a crash as one line in the log of a process that can reach neither crashd nor a
/// spool.
@Suite(.sharedDaemon, .serialized)
struct RecordLineMatrixTests {
  @Test("the report of a record line equals crashd's report, for every scenario")
  func matrix() async throws {
    let scenarios = Scenario.runnable.filter { RecordLineRow.isPossible($0) }
    try await check(scenarios, program: nil)
  }

  @Test("the report of a record line of an optimized program equals crashd's report", Binaries.ofRelease)
  func optimized() async throws {
    let scenarios = Scenario.runnable(isOptimized: true, isStatic: false).filter { RecordLineRow.isPossible($0) }
    try await check(scenarios, program: Binaries.optimizedCrashMaker())
  }

  /// Runs each scenario with and without crashd, decodes all logs at once, and compares the reports.
  private func check(_ scenarios: [Scenario], program: String?) async throws {
    let daemon = try SharedDaemon.current
    let place = try TestDirectory()
    var (log, scenarios): ([String], [Scenario]) = ([], scenarios)
    for scenario in scenarios {
      let crash = try await Crasher.run(
        scenario.name, environment: RecordLineRow.environment(in: place, daemon), program: program)
      scenario.endChild(of: crash)
      let count = crash.error.split(separator: "crashshield-record:1:", omittingEmptySubsequences: false).count - 1
      #expect(count == 1, "\(scenario.name) left \(count) record lines: \(crash.error)")
      log.append(crash.error)
      if count == 0 { scenarios.removeAll { $0.name == scenario.name } }
    }
    #expect(try entries(of: place.path).allSatisfy { !$0.hasSuffix(".ring") })
    // The reports are in the order of the log.
    let decoded = try await RecordLog.decode(log.joined(separator: "\n"))
    try #require(decoded.count == scenarios.count)
    for (scenario, line) in zip(scenarios, decoded) {
      let reports = try await ScenarioRun.shared(scenario, program: program).reports
      guard let report = reports.first, reports.count == 1 else {
        Issue.record("\(scenario.name): \(reports.count) reports of crashd")
        continue
      }
      #expect(line.source == .recordLine && report.source == nil)
      let row = RecordLineRow(scenario, line: line, report: report)
      #expect(row.differences.isEmpty, "\(scenario.name)\n\(row.differences.joined(separator: "\n"))")
    }
  }
}
