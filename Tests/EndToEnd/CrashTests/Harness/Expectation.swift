import CrashMaker
import CrashReport
import TestKit

/// What a scenario's report must say beside the scenario's own fields: the columns of SCENARIOS.md.
struct Expectation {
  /// The causes that a rule may say.
  var causes: Set<CrashReport.Cause>
  /// The names that `si_code` may have.
  var codes: Set<String>
  /// Who sent the signal.
  var sender: Sender
  /// What the reason or the diagnosis must contain.
  var words: [String]
  /// The exact losses of the report; threads that were answering at the deadline do not count.
  var losses: [String: Int]
  /// At least as many threads.
  var threadCount: Int
  /// A thread without an answer, and the reason; nil where there is none for certain.
  var silence: CrashReport.Silence?
  /// The name of the crashed thread's task; nil where none is certain.
  var taskName: String?

  enum Sender {
    case kernel, itself, another
    /// A process outside of its pid namespace.
    case invisible
  }

  init(_ scenario: Scenario, isOptimized: Bool) throws {
    causes = Self.causes(of: scenario)
    codes = Self.codes(of: scenario)
    sender = Self.sender(of: scenario)
    words = Self.words[scenario.name] ?? []
    let placed = isOptimized ? Self.placedAlways : Self.placedAlways + Self.placedInDebug
    if placed.contains(scenario.name) { words.append("\(try SourceMark.find(scenario.mark).description): ") }
    losses = Self.losses[scenario.name] ?? [:]
    threadCount = max(scenario.crashedCount, Self.threadCounts[scenario.name] ?? 1)
    silence = Self.silences[scenario.name]
    taskName = scenario.name == "task-named" ? "restock the shelves" : nil
  }

  /// How a report differs from it; nil when it matches.
  func complaint(about report: CrashReport) -> String? {
    let said = [report.reason, report.diagnosis.sentence, report.diagnosis.evidence ?? ""].joined(separator: "\n")
    if let missing = words.first(where: { !said.contains($0) }) { return "'\(missing)' is not in '\(said)'" }
    if !causes.contains(report.diagnosis.cause) {
      return
        "\(report.diagnosis.cause) (\(report.diagnosis.confidence)), not one of \(causes.map(\.rawValue).sorted()): '\(said)'"
    }
    if !codes.contains(report.signal.codeName) { return "\(report.signal.codeName), not one of \(codes.sorted())" }
    if let complaint = complaint(about: report.signal.sender, in: report) { return complaint }
    if report.losses.filter({ $0.key != "silentThreads" }) != losses { return "lost: \(report.losses), not \(losses)" }
    return complaint(about: report.threads)
  }

  /// The same of a death that no handler saw: it has neither threads nor a code.
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

  private func complaint(about threads: [CrashReport.CrashedThread]) -> String? {
    if threads.count < threadCount { return "\(threads.count) threads, not \(threadCount)" }
    if let silence, !threads.contains(where: { $0.silence == silence }) {
      return "no thread is silent by \(silence): \(threads.compactMap(\.silence))"
    }
    if let taskName, threads.first?.task?.name != taskName { return "no task '\(taskName)'" }
    return nil
  }
}
