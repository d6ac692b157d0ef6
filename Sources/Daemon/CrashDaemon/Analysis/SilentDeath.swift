import CrashReport
import CrashRing
import Glibc

/// An unreported exit: the process ended abnormally without a crash record.
///
/// Other evidence, such as the exit status or the OOM kill counter, shows the reason.
struct SilentDeath: Sendable {
  var death: CrashReport.Death
  var diagnosis: CrashReport.Diagnosis
  /// The text at the beginning of the crash group's key and title.
  var title: String

  /// The signals with which operators and service managers stop a healthy program.
  private static let stops: Set<Int32> = [SIGTERM, SIGINT, SIGHUP]
  private static let memoryConfidence = 0.9
  /// The confidence that the OOM killer killed the process, if other processes of the same control group were killed at
  /// the same time.
  private static let sharedConfidence = 0.5
  private static let crashSignals: Set<Int32> = [SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP, SIGFPE, SIGSYS]

  /// Whether the end of the process can be an unreported exit.
  ///
  /// The check does not read the process's records, because most processes end normally and reading the records would
  /// be expensive.
  static func isPossible(_ ended: EndedProcess, hasCrashed: Bool) -> Bool {
    switch ended.end {
    case .goesOn: return false
    case .unknown: return !hasCrashed
    case .status(let status):
      let signal = status & 0x7f
      guard signal != 0, !stops.contains(signal) else { return false }
      // If a process crashed and then ended with a crash signal, it ended because of this crash, even if signal
      // handlers of the program ran in between.
      return !(hasCrashed && crashSignals.contains(signal))
    }
  }

  /// Evaluates how a process ended.
  ///
  /// Returns nil if the process still runs, ended without a signal, or was stopped by an operator or a service manager.
  /// Also returns nil if there is no evidence of an abnormal end.
  /// - Parameters:
  ///   - ended: The process, and how it ended.
  ///   - losses: The numbers of lost items by kind, such as `torn` for records that the handler did not finish.
  ///   - hasCrashed: Whether a report of a crash of this process exists.
  init?(_ ended: EndedProcess, losses: [String: Int], hasCrashed: Bool = false) {
    guard Self.isPossible(ended, hasCrashed: hasCrashed) else { return nil }
    var death = CrashReport.Death(cgroup: ended.memory?.cgroup, oomKills: ended.memory?.kills)
    switch ended.end {
    case .goesOn: return nil
    case .unknown:
      // Require evidence of a crash, because most processes end normally. An OOM kill in the control group is not
      // evidence, because the victim can be another process of the control group.
      guard (losses["torn"] ?? 0) > 0 else { return nil }
    case .status(let status):
      death.signal = Int(status & 0x7f)
      death.dumpedCore = status & 0x80 != 0
    }
    if let memory = ended.memory, memory.kills > 0, death.signal == Int(SIGKILL) {
      (death.oomVictim, death.oomCandidates) = (memory.isVictim, memory.candidates)
    }
    if hasCrashed { death.afterCrash = true }
    self.init(death, losses: losses)
  }

  /// Evaluates evidence that an earlier analysis stored in a report.
  init(_ death: CrashReport.Death, losses: [String: Int]) {
    self.death = death
    guard let signal = death.signal.flatMap({ Int32(exactly: $0) }) else {
      title = "Ended without a trace"
      diagnosis = CrashReport.Diagnosis(
        cause: .init("unknown"), sentence: "\(title): this kernel does not report how a process ended.",
        rule: "silent-unknown", confidence: 1)
      return
    }
    (title, diagnosis) =
      signal == SIGKILL ? Self.judgeKill(death) : Self.judge(signal, isTorn: (losses["torn"] ?? 0) > 0)
    if let result = death.unitResult {
      diagnosis.sentence = "\(diagnosis.sentence.dropLast()); its unit's result is '\(result)'."
    }
    if death.afterCrash == true { diagnosis.sentence = diagnosis.sentence.dropLast() + ", after it had crashed." }
  }

  /// Returns the rules for unreported exits, with the evidence that each rule read.
  func explanation(losses: [String: Int]) -> [CrashReport.RuleOutcome] {
    let unit = death.unitResult.map { "the unit's result: \($0)" } ?? "how the unit ended is unknown"
    let candidates = "processes that the OOM kills can have hit: \(death.oomCandidates ?? 0)"
    let saw: [String] = [
      candidates, unit,
      death.signal.map { "ended by \(SignalNames.name(of: $0))\(death.dumpedCore ? ", core dumped" : "")" }
        ?? "the kernel does not report how it ended",
      death.oomKills.map { "oom_kill of cgroup '\(death.cgroup ?? "?")' rose by \($0)" } ?? "oom_kill is not counted",
      "torn records: \(losses["torn"] ?? 0)",
    ]
    return ["silent-unknown", "silent-out-of-memory", "silent-unit", "silent-kill", "silent-signal"].map { name in
      let isChosen = name == diagnosis.rule
      return CrashReport.RuleOutcome(
        rule: name, cause: isChosen ? diagnosis.cause : .init(""), confidence: isChosen ? diagnosis.confidence : 0,
        applies: isChosen, isChosen: isChosen, saw: saw.map(CleanText.line),
        sentence: isChosen ? diagnosis.sentence : nil)
    }
  }

  private static func judgeKill(_ death: CrashReport.Death) -> (String, CrashReport.Diagnosis) {
    let kills = death.oomKills ?? 0
    let candidates = death.oomCandidates ?? 1
    let group = death.cgroup.map { $0 == "/" ? "" : " of '\($0)'" } ?? ""
    let counted = "its control group\(group) counted \(kills) OOM \(kills == 1 ? "kill" : "kills")"
    // systemd kills a unit that does not start or stop in time, or does not send a notification to the watchdog in
    // time.
    let limits = ["timeout": "the unit did not start or stop in time", "watchdog": "the unit's watchdog ran out"]
    if death.oomVictim != true, let result = death.unitResult, let why = limits[result] {
      let title = "Killed by systemd"
      return (
        title,
        CrashReport.Diagnosis(
          cause: .init("unit-\(result)"), sentence: "\(title): \(why).", rule: "silent-unit",
          confidence: memoryConfidence)
      )
    }
    guard death.oomVictim == true else {
      let title = "Killed (SIGKILL from outside)"
      let isDoubtful = kills > 0 && candidates > 1
      let sentence =
        isDoubtful
        ? "\(title), or possibly by the kernel because memory ran out: \(counted), and \(candidates) of its processes "
          + "were killed."
        : "\(title)."
      return (
        title,
        // If the control group has no counter of OOM kills, the reason is uncertain, so the confidence is lower than
        // with a counter.
        CrashReport.Diagnosis(
          cause: .init("killed"), sentence: sentence, rule: "silent-kill",
          confidence: isDoubtful ? sharedConfidence : death.oomKills == nil ? 0.8 : 1)
      )
    }
    let isShared = candidates > kills
    let title = isShared ? "Killed, possibly by the kernel: out of memory" : "Killed by the kernel: out of memory"
    let others = isShared ? ", and \(candidates) of its processes were killed" : " while it ran"
    return (
      title,
      CrashReport.Diagnosis(
        cause: .init("out-of-memory"), sentence: "\(title) (\(counted)\(others)).", rule: "silent-out-of-memory",
        confidence: isShared ? sharedConfidence : memoryConfidence)
    )
  }

  private static func judge(_ signal: Int32, isTorn: Bool) -> (String, CrashReport.Diagnosis) {
    let name = SignalNames.name(of: Int(signal))
    let title = "Died of \(name) without a record"
    let isOurs = crashSignals.contains(signal)
    let reason =
      if isTorn {
        "the handler began a record and could not finish it"
      } else if signal == SIGSYS {
        "a seccomp filter killed it at once, or the handler was replaced"
      } else if isOurs {
        "the thread had blocked the signal, it had no stack left for the handler, or the handler was replaced"
      } else {
        "the program does not handle that signal"
      }
    return (
      title,
      CrashReport.Diagnosis(
        cause: .init(isTorn ? "torn-record" : isOurs ? "handler-did-not-run" : "unhandled-signal"),
        sentence: "\(title): \(reason).", rule: "silent-signal", confidence: isOurs && !isTorn ? 0.9 : 1)
    )
  }
}

extension ReportBuilder {
  /// Builds the report of an unreported exit.
  func report(id: String, of death: SilentDeath, at time: Moment) -> CrashReport? {
    let number = death.death.signal
    var report = CrashReport(
      id: id, time: time.description, process: identity,
      signal: CrashReport.Signal(
        number: number ?? 0, name: number.map { SignalNames.name(of: $0) } ?? "unknown", code: 0, codeName: ""),
      reason: "", diagnosis: death.diagnosis, threads: [], images: images, annotations: contents.annotations,
      breadcrumbs: breadcrumbs,
      group: Grouping.group(ofSilent: death, process: process.identity.name, build: process.buildID),
      losses: contents.losses, death: death.death)
    report.replacedHandlers = replacedHandlers
    putHistory(into: &report)
    putContext(into: &report)
    putRequests(into: &report, at: time.nanoseconds)
    putContainment(into: &report, nil)
    return report
  }
}
