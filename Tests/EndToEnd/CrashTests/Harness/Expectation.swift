import CrashMaker
import CrashReport
import TestKit

/// What the report of a scenario must contain, in addition to the scenario's own fields.
struct Expectation {
  /// The causes that the report is allowed to have.
  var causes: Set<CrashReport.Cause>
  /// The symbolic names of the values that `si_code` is allowed to have.
  var codes: Set<String>
  /// The kind of process that sent the signal.
  var sender: Sender
  /// The strings that the reason or the diagnosis must contain.
  var words: [String]
  /// The exact losses that the report must state.
  ///
  /// The loss `silentThreads` is not compared, because on a slow machine a thread can answer after the sweep's
  /// deadline.
  var losses: [String: Int]
  /// The minimum number of threads.
  var threadCount: Int
  /// Whether the report may count threads as lost, instead of listing them.
  ///
  /// On a busy machine, a sweep can reach its deadline before it has asked all threads. CaptureTests checks that a sweep
  /// with enough time asks all threads.
  var mayLoseThreads = false
  /// The expected reason why a thread does not answer the thread sweep; nil if the scenario does not determine it.
  var silence: CrashReport.Silence?
  /// The expected name of the crashing thread's task; nil if the scenario does not determine it.
  var taskName: String?

  enum Sender {
    case kernel, itself, another
    /// The sender is a process outside of the crashing process's pid namespace.
    case invisible
  }

  init(_ scenario: Scenario, isOptimized: Bool) throws {
    causes = Self.causes(of: scenario)
    codes = Self.codes(of: scenario)
    sender = Self.sender(of: scenario)
    words = Self.words[scenario.name] ?? []
    // The scenario calls `personality`.
    if scenario.name == "seccomp-sys" { words = ["system call \(scenario.architecture == .x86_64 ? 135 : 92)"] }
    // On AArch64, the symbols of Debian's libdispatch.so lack the names of its internal functions.
    if scenario.architecture == .aarch64, ["dispatch-sync-self", "dispatch-over-resume"].contains(scenario.name) {
      words = ["API misuse"]
    }
    let placed = isOptimized ? Self.placedAlways : Self.placedAlways + Self.placedInDebug
    if placed.contains(scenario.name) { words.append("\(try SourceMark.find(scenario.mark).description): ") }
    losses = Self.losses[scenario.name] ?? [:]
    threadCount = max(scenario.crashedCount, Self.threadCounts[scenario.name] ?? 1)
    silence = Self.silences[scenario.name]
    taskName = scenario.name == "task-named" ? "restock the shelves" : nil
  }

  /// Describes how a report differs from the expectation.
  ///
  /// Returns nil if the report matches.
  func complaint(about report: CrashReport) -> String? {
    let said = [report.reason, report.diagnosis.sentence, report.diagnosis.evidence ?? ""].joined(separator: "\n")
    if let missing = words.first(where: { !said.contains($0) }) { return "'\(missing)' is not in '\(said)'" }
    if !causes.contains(report.diagnosis.cause) {
      return
        "\(report.diagnosis.cause) (\(report.diagnosis.confidence)), not one of \(causes.map(\.rawValue).sorted()): '\(said)'"
    }
    if !codes.contains(report.signal.codeName) { return "\(report.signal.codeName), not one of \(codes.sorted())" }
    if let complaint = complaint(about: report.signal.sender, in: report) { return complaint }
    var found = report.losses
    found["silentThreads"] = nil
    let lostThreads = mayLoseThreads ? found.removeValue(forKey: "threads") ?? 0 : 0
    if found != losses { return "lost: \(report.losses), not \(losses)" }
    return complaint(about: report.threads, lost: lostThreads)
  }

  /// Describes how the report of an unreported exit (an exit without a crash record, such as by SIGKILL) differs from
  /// the expectation.
  ///
  /// Returns nil if the report matches. Such a report has neither threads nor `si_code`.
  func complaint(aboutDeath report: CrashReport) -> String? {
    let said = report.diagnosis.sentence + "\n" + (report.diagnosis.evidence ?? "")
    if let missing = words.first(where: { !said.contains($0) }) { return "'\(missing)' is not in '\(said)'" }
    if !causes.contains(report.diagnosis.cause) {
      return "\(report.diagnosis.cause), not one of \(causes.map(\.rawValue).sorted())"
    }
    return report.losses == losses ? nil : "lost: \(report.losses), not \(losses)"
  }

  private func complaint(about signaller: CrashReport.Sender?, in report: CrashReport) -> String? {
    let isRight =
      switch sender {
      case .kernel: signaller == nil
      case .invisible: signaller?.pid == 0 && signaller?.uid == report.process.uid
      case .itself: signaller?.pid == report.process.pid && signaller?.uid == report.process.uid
      case .another:
        signaller.map { $0.pid > 0 && $0.pid != report.process.pid && $0.uid == report.process.uid } ?? false
      }
    return isRight ? nil : "sent by \(signaller.map { "\($0)" } ?? "the kernel"), not by \(sender)"
  }

  private func complaint(about threads: [CrashReport.CrashedThread], lost: Int) -> String? {
    if threads.count + lost < threadCount { return "\(threads.count) threads and \(lost) lost, not \(threadCount)" }
    if let silence, !threads.contains(where: { $0.silence == silence }) {
      return "no thread is silent by \(silence): \(threads.compactMap(\.silence))"
    }
    if let taskName, threads.first?.task?.name != taskName { return "no task '\(taskName)'" }
    return nil
  }
}
