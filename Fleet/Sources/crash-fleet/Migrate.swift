import ArgumentParser
import FleetStore

/// Creates or updates the schema.
struct Migrate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Create or update the schema, also while services store reports")

  @OptionGroup var options: SettingsOptions

  func run() async throws {
    let applied = try await options.withStore { try await $0.migrate() }
    print(applied.isEmpty ? "the schema is up to date" : applied.map { "applied: \($0)" }.joined(separator: "\n"))
  }
}
