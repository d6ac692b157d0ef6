import ArgumentParser
import CrashReport
import FleetStore

/// Checks the database.
struct Doctor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check standbys, disk, lag and clocks; exit with 1 if something is bad")

  @OptionGroup var options: SettingsOptions

  func run() async throws {
    let findings = try await options.withStore { try await $0.diagnose() }
    for finding in findings {
      let mark =
        switch finding.level {
        case .good: "ok      "
        case .warning: "warning "
        case .bad: "bad     "
        }
      print(CleanText.line(mark + finding.text))
    }
    if findings.contains(where: { $0.level == .bad }) { throw ExitCode(1) }
  }
}
