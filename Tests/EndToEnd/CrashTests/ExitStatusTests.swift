import CrashMaker
import Testing

/// The process dies as it would have died without the shield.
@Suite(.sharedDaemon, .serialized)
struct ExitStatusTests {
  /// Swift's own backtracer prints how long it took.
  private static let runnable = Scenario.runnable.filter(\.environment.isEmpty)

  @Test("exit status and core are those without the shield", arguments: runnable.map(\.name))
  func same(name: String) async throws {
    let daemon = try SharedDaemon.current
    let with = try await Crasher.run(
      name, ["--wait-attached"], environment: daemon.place.environment, coreLimit: .unlimited)
    let without = try await Crasher.run(name, environment: ["CRASHSHIELD_DISABLE": "1"], coreLimit: .unlimited)
    #expect(with.status == without.status)
    #expect(normalized(with.error) == normalized(without.error), "the shield changed what the program prints")
  }

  /// Addresses differ from run to run.
  private func normalized(_ text: String) -> String {
    text.replacing(/(0x|\$)[0-9a-f]+/, with: "0x…")
  }
}
