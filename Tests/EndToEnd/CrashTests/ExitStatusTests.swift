import CrashMaker
import Testing

/// Tests that a crashing process ends in the same way with and without the shield.
@Suite(.sharedDaemon, .serialized)
struct ExitStatusTests {
  /// The scenarios that set no environment variables.
  ///
  /// One of the others enables Swift's backtracer, which prints its own run time, and this differs from run to run.
  private static let runnable = Scenario.runnable.filter(\.environment.isEmpty)

  @Test("the exit status and the core dump are the same as without the shield", arguments: runnable.map(\.name))
  func same(name: String) async throws {
    let scenario = try #require(Scenario.named(name))
    let with = try await ScenarioRun.shared(scenario).crash
    let without = try await Crasher.run(name, environment: ["CRASHSHIELD_DISABLE": "1"], coreLimit: .unlimited)
    #expect(with.status == without.status)
    #expect(normalized(with.error) == normalized(without.error), "the shield changed what the program prints")
  }

  /// Replaces the addresses in the output of a process, because they differ from run to run.
  private func normalized(_ text: String) -> String {
    text.replacing(/(0x|\$)[0-9a-f]+/, with: "0x…")
  }
}
