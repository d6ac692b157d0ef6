import CrashMaker
import CrashReport
import TestKit

/// Compares two reports of one scenario: one from a record line, and one from an attached process.
struct RecordLineRow {
  /// The differences, without those that the `exceptions` allow for the scenario.
  var differences: [String] = []

  /// The scenarios that do not write exactly one record line, with the reasons.
  ///
  /// docs/record-line.md lists the same scenarios.
  static let excluded: [String: String] = {
    let handler = "a handler of the program ends the process before the shield's handler has the last word"
    let names = ["crash-in-previous-handler", "crash-in-user-callback", "handler-chained-before", "sa-onstack-missing"]
    var excluded = Dictionary(uniqueKeysWithValues: names.map { ($0, handler) })
    excluded["posix_spawn-child"] = "the spawned program waits until it is connected with crashd"
    excluded["abort-as-pid-1"] = "SIGABRT and the fault by which abort() then ends a first process have one line each"
    return excluded
  }()

  /// The parts of a report that are allowed to differ in a scenario, with the reasons.
  ///
  /// docs/record-line.md lists the same exceptions.
  static let exceptions: [String: (parts: Set<Part>, reason: String)] = {
    let outside = "the signal of another process arrives at another instruction in each run"
    let names = ["kill-from-outside", "kill-abort-from-outside", "kill-ill-from-outside", "kill-over-namespace"]
    var exceptions = Dictionary(
      uniqueKeysWithValues: names.map { ($0, (parts: Set([Part.frames, .sentence]), reason: outside)) })
    for name in ["simultaneous-2", "simultaneous-8", "simultaneous-64"] {
      exceptions[name] = ([.frames, .sentence, .task], "another thread crashes first in each run")
    }
    exceptions["inside-setxid"] = ([.frames], "the fault interrupts libc at another instruction in each run")
    exceptions["other-uid"] = (
      [.cause, .sentence], "the user of the log must not see the addresses of a process with more rights"
    )
    return exceptions
  }()

  /// A part of a report that the test compares.
  enum Part: String, CaseIterable {
    case signal, reason, cause, sentence, className, task, frames
  }

  init(_ scenario: Scenario, line: CrashReport, report: CrashReport) {
    let excused = Self.exceptions[scenario.name]?.parts ?? []
    for part in Part.allCases where !excused.contains(part) {
      let (ours, theirs) = (Self.text(part, of: line), Self.text(part, of: report))
      if ours != theirs {
        differences.append("\(part.rawValue) of the line: \(ours)\n\(part.rawValue) of crashd: \(theirs)")
      }
    }
  }

  /// Whether a scenario writes exactly one record line.
  static func isPossible(_ scenario: Scenario) -> Bool {
    scenario.isReported && !scenario.isSilentDeath && excluded[scenario.name] == nil
  }

  /// The environment of a process that can reach neither crashd nor a spool directory.
  static func environment(in place: TestDirectory, _ daemon: PrivateDaemon) -> [String: String] {
    var environment = daemon.place.environment
    environment["CRASHSHIELD_SOCKET"] = place.path + "/missing/attach"
    // /dev/null is not a directory, so no process can create this spool.
    environment["CRASHSHIELD_SPOOL"] = "/dev/null/spool"
    environment["CRASHSHIELD_RECORD"] = "stderr"
    return environment
  }

  /// Formats a part of a report, without what differs from run to run.
  ///
  /// Leaves out the source line of a stack overflow, because the stack can overflow at another line in each run.
  private static func text(_ part: Part, of report: CrashReport) -> String {
    let thread = report.crashedThread
    let isOverflow = report.diagnosis.cause.rawValue == "stack-overflow"
    return switch part {
    case .signal: "\(report.signal.name) \(report.signal.codeName)"
    case .reason: masked(report.reason)
    case .sentence:
      isOverflow
        ? masked(report.diagnosis.sentence).replacing(/:[0-9]+\)/, with: ":…)") : masked(report.diagnosis.sentence)
    case .cause: "\(report.diagnosis.cause.rawValue) by \(report.diagnosis.rule)"
    case .className: report.diagnosis.objectClass ?? ""
    case .task: thread?.task?.name ?? ""
    case .frames:
      (thread?.frames ?? []).enumerated().map { text($1, hasLine: !isOverflow || $0 > 0) }.joined(separator: "\n")
    }
  }

  /// Masks the numbers that differ from run to run: addresses, and the depth of a recursion.
  private static func masked(_ text: String) -> String {
    text.replacing(/Process [0-9]+/, with: "Process …").replacing(/0x[0-9a-f]+/, with: "0x…").replacing(
      /[0-9]+ calls deep/, with: "… calls deep")
  }

  private static func text(_ frame: CrashReport.Frame, hasLine: Bool) -> String {
    let marks = (frame.isOwn ? " own" : "") + (frame.isInline ? " inline" : "") + (frame.isAsync ? " async" : "")
    let line = hasLine ? "\(frame.line ?? 0)" : "…"
    return "\(frame.function) \(frame.file ?? ""):\(line) [\(frame.trust.rawValue)\(marks)]"
  }
}
