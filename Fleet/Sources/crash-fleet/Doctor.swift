import ArgumentParser
import CrashReport
import FleetStore
import Glibc

/// Checks the database.
struct Doctor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check standbys, disk, lag and clocks; exit with 1 if something is bad")

  @OptionGroup var options: SettingsOptions

  func run() async throws {
    var time = timespec()
    // Invariant: the kernel fills in the structure during the call. CLOCK_REALTIME always exists.
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    let now_us = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    let findings = try await options.withStore { try await $0.diagnose(now_us: now_us) }
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
