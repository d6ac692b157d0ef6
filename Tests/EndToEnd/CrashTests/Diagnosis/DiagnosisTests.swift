import CrashMaker
import CrashReport
import TestKit
import Testing

/// Tests that the report of each crash scenario has the right cause.
@Suite(.sharedDaemon, .serialized)
struct DiagnosisTests {
  @Test(
    "each scenario's report has the right cause, and only scenarios that use freed memory have the cause 'dangling'",
    arguments: Binaries.builds)
  func causes(build: String) async throws {
    let program = try build == "optimized" ? Binaries.optimizedCrashMaker() : nil
    var (right, wrong) = (0, [String]())
    for scenario in Scenario.runnable(isOptimized: Binaries.areInstalled, isStatic: build == "installed")
    where scenario.isReported {
      guard let diagnosis = try await ScenarioRun.shared(scenario, program: program).reports.first?.diagnosis else {
        wrong.append("\(scenario.name): no report")
        continue
      }
      if Expectation.causes(of: scenario).contains(diagnosis.cause) {
        right += 1
      } else {
        wrong.append("\(scenario.name): \(diagnosis.cause), \(diagnosis.confidence): \(diagnosis.sentence)")
        // A wrong cause with high confidence is worse than no cause.
        #expect(diagnosis.confidence < 0.9, "\(scenario.name): \(diagnosis.sentence)")
      }
      let isDangling = scenario.name == "unowned-dangling" || Expectation.freed.contains(scenario.name)
      #expect((diagnosis.cause == "dangling") == isDangling, "\(scenario.name): \(diagnosis.sentence)")
      // A cause that crashd infers from memory contents has a confidence below 1.
      #expect(!Expectation.freed.contains(scenario.name) || diagnosis.confidence < 1)
    }
    #expect(right * 100 >= (right + wrong.count) * 95, "\(wrong.joined(separator: "\n"))")
    if !wrong.isEmpty { print("causes, \(build): \(right) right; not right:\n" + wrong.joined(separator: "\n")) }
  }
}
