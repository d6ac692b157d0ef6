public import CrashProtocol
internal import CrashReport

/// Formats the tables and texts of `dangling policy`, `events` and `statistics`.
public enum DanglingText: Sendable {
  /// Formats the protection policies of programs, one line per program.
  public static func policies(_ policies: [DanglingPolicyReport], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "NAME", minimum: 8, maximum: 24, style: .bold),
      .init(title: "UID", alignsRight: true, dropOrder: 3, common: "uid"),
      .init(title: "LEVEL", common: "level"),
      .init(title: "PIN", common: "pin"),
      .init(title: "ON ALARM", dropOrder: 2, common: "on an alarm"),
      .init(title: "BUDGET", alignsRight: true, dropOrder: 4, common: "budget"),
      .init(title: "CRASHES", alignsRight: true, style: .red),
      .init(title: "APPLIED", alignsRight: true),
      .init(title: "CLASSES", minimum: 16),
      .init(title: "PROGRAM", minimum: 12, cut: .beginning, dropOrder: 1, style: .dim),
    ]
    let rows = policies.map { policy in
      [
        policy.name, "\(policy.uid)", policy.level.rawValue, policy.pin.rawValue,
        policy.isAutomaticAllowed ? "protect" : "report", Listings.size(policy.budgetBytes),
        "\(policy.days.map(\.crashes).reduce(0, +))", "\(policy.applied)/\(policy.processes)", classes(policy),
        policy.program,
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  private static func classes(_ policy: DanglingPolicyReport) -> String {
    let names = (policy.includesOwnClasses ? ["all of its own"] : []) + policy.classes.map(\.name)
    return names.isEmpty ? "none" : names.joined(separator: ", ")
  }

  /// Formats one program's policy: a verdict, then the facts.
  public static func policy(_ policy: DanglingPolicyReport, events: [DanglingEventReport], terminal: Terminal) -> String
  {
    let names = classes(policy)
    var facts: [(title: String, text: String, style: Terminal.Style?)] = [
      ("program", "\(policy.program), uid \(policy.uid)", nil),
      ("protected", names, nil),
      ("memory", "up to \(Listings.size(policy.budgetBytes)) a process (\(budgets(policy)))", nil),
      ("pin", pin(policy.pin), nil),
      ("crashes", crashes(policy), nil),
      (
        "processes",
        policy.processes == 0 ? "none is attached" : "applied in \(policy.applied) of \(policy.processes)", nil
      ),
    ]
    if let stop = policy.stop { facts.append(("until", self.stop(stop), nil)) }
    if let text = policy.lastSwitch, let time = policy.lastSwitchTime {
      facts.append(("switched", "\(terminal.clock.text(time)): \(text)", nil))
    }
    var text = Prose.wrapped(
      terminal.styled(CleanText.line(policy.name), .bold) + ": " + CleanText.line(verdict(policy)), terminal, indent: 2)
    text += "\n" + Prose.facts(facts, terminal)
    let width = (policy.classes.map(\.name.count) + policy.releasedClasses.map(\.count)).max() ?? 0
    let line = { (name: String, what: String) in
      Prose.wrapped(CleanText.line("  \(name.padded(to: width))  \(what)"), terminal, indent: 4)
    }
    if !policy.classes.isEmpty || !policy.releasedClasses.isEmpty { text += "\nClasses:\n" }
    for known in policy.classes {
      text += line(known.name, "\(known.mode), \(known.limit) objects, by the \(known.listedBy)")
    }
    for name in policy.releasedClasses { text += line(name, "never, by the operator (dangling reset takes it back)") }
    for (name, reason) in policy.refusals.sorted(by: { $0.key < $1.key }) {
      text += line(name.isEmpty ? "settings" : name, "not applied: \(reason)")
    }
    if !events.isEmpty { text += "\nDecisions:\n" }
    for event in events {
      text += Prose.wrapped(
        "  \(terminal.clock.text(event.decision.time))  \(CleanText.line(event.decision.text))", terminal, indent: 4)
    }
    return text
  }

  /// Describes the state of a program's protection, and whether its crashes are becoming more frequent.
  static func verdict(_ policy: DanglingPolicyReport) -> String {
    let score = "\(number(policy.evidence)) of \(number(policy.alarmThresholdDays))"
    let trend =
      policy.evidence >= policy.alarmThresholdDays
      ? "Use-after-free crashes have increased (\(score))"
      : policy.evidence * 10 >= policy.alarmThresholdDays
        ? "Use-after-free crashes may be increasing (\(score))" : "No sign of an increase (\(score))"
    return "protection \(policy.level). Automatic: \(policy.isAutomaticAllowed ? "on" : "off"). \(trend)."
  }

  private static func budgets(_ policy: DanglingPolicyReport) -> String {
    "\(Listings.size(policy.baseBudgetBytes)) at level base, \(Listings.size(policy.raisedBudgetBytes)) raised"
  }

  private static func pin(_ pin: DanglingPolicyReport.Pin) -> String {
    pin == .automatic ? "automatic: the alarm and the stop rule decide" : "\(pin): takes precedence over the alarm"
  }

  private static func crashes(_ policy: DanglingPolicyReport) -> String {
    let loop =
      policy.crashLoopSeconds == 0
      ? "each restart counts" : "restarts within \(number(policy.crashLoopSeconds)) s count once"
    let sum = policy.days.map(\.crashes).reduce(0, +)
    return "\(Listings.grouped(sum)) by use-after-free; baseline \(number(policy.usualPerDay)) a day; \(loop)"
  }

  /// Formats the result of a change.
  public static func change(_ what: String, _ change: DanglingChange) -> String {
    let running =
      change.processes == 0
      ? "no process of these programs is attached"
      : "applied in \(change.applied) of \(change.processes) attached processes"
    return CleanText.line("\(what) in \(change.services.joined(separator: ", ")): \(running)") + "\n"
  }

  private static func stop(_ stop: DanglingPolicyReport.Stop) -> String {
    "\(stop.runWithoutNewGroup) of \(stop.enoughHitsWithoutNewGroup) hits in a row without a new call site "
      + "(\(stop.hits) from \(stop.groups)), evidence of a drop \(number(stop.dropEvidence)) of "
      + "\(number(stop.dropThreshold)), \(number(stop.days)) of \(number(stop.atMostDays)) days"
  }

  /// Formats crashd's decisions about protection.
  ///
  /// In an overview, the decisions of one command that changed several programs share one line.
  public static func events(_ events: [DanglingEventReport], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: terminal.isBrief ? "AGE" : "TIME", alignsRight: terminal.isBrief),
      .init(title: "NAME", minimum: 8, maximum: 24, common: "name", style: .bold),
      .init(title: "UID", alignsRight: true, dropOrder: 2, common: "uid"),
      .init(title: "ACTION", dropOrder: 1, common: "action"),
      .init(title: "WHAT", minimum: 24),
    ]
    let groups = terminal.isBrief ? Folding.all(events, by: Command.init) : events.map { [$0] }
    let rows = groups.compactMap { group -> [String]? in
      guard let event = group.first else { return nil }
      let names = Set(group.map(\.name)).count > 1 ? "\(event.name) +\(group.count - 1)" : event.name
      return [
        terminal.moment(event.decision.time), names, "\(event.uid)", event.decision.action.rawValue,
        event.decision.text,
      ]
      .map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  /// Identifies one command that changed several programs: the decisions of one command have the same second and the
  /// same description.
  private struct Command: Hashable {
    var second, text: String
    var uid: Int

    init(_ event: DanglingEventReport) {
      (second, text) = (String(event.decision.time.prefix(19)), event.decision.text)
      uid = event.uid
    }
  }

  /// Formats the quarantine estimates, one line per class and build.
  public static func statistics(_ classes: [DanglingClass], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "NAME", minimum: 8, maximum: 20, dropOrder: 3, common: "name"),
      .init(title: "CLASS", minimum: 12, style: .bold),
      .init(title: "BUILD", minimum: 8, maximum: 8, cut: .digits, dropOrder: 2, common: "build", style: .dim),
      .init(title: "FREED/S", alignsRight: true),
      .init(title: "LIMIT", alignsRight: true),
      .init(title: "RETAINED", alignsRight: true),
      .init(title: "DETECTION", alignsRight: true),
      .init(title: "HITS", alignsRight: true, style: .red),
      .init(title: "EST. USES", alignsRight: true),
      .init(title: "CRASHES", alignsRight: true, dropOrder: 4),
      .init(title: "LIMIT FOR 90%", alignsRight: true, dropOrder: 1),
    ]
    let rows = classes.map { found in
      let figures = found.figures
      let chance = figures.detection.map {
        "\(percent($0.estimate)) (\(percent($0.interval.lower))–\(percent($0.interval.upper)))"
      }
      return [
        found.process, figures.className, figures.build, number(figures.deallocationsPerSecond),
        number(figures.slots), figures.horizonSeconds.map(seconds) ?? "no limit", chance ?? "no hit yet",
        number(figures.hits), uses(figures), number(figures.attributedCrashes), "\(figures.suggestedSlots)",
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  private static func uses(_ figures: DanglingClass.Figures) -> String {
    let deviation = figures.estimatedAccessesDeviation
    return number(figures.estimatedAccesses) + (deviation > 0 ? " ± \(number(deviation))" : "")
  }

  /// Formats a number with at most two decimals.
  ///
  /// Larger numbers have fewer decimals.
  static func number(_ value: Double) -> String {
    guard value.isFinite else { return "∞" }
    let magnitude = abs(value)
    let digits = magnitude >= 100 || value == value.rounded() ? 0 : magnitude >= 1 ? 1 : 2
    let scale: Double = digits == 0 ? 1 : digits == 1 ? 10 : 100
    guard magnitude < 1e15 else { return "\(value)" }
    let scaled = Int64((value * scale).rounded())
    guard digits > 0 else { return "\(scaled)" }
    let fraction = String(abs(scaled) % Int64(scale))
    let padded = String(repeating: "0", count: digits - fraction.count) + fraction
    return "\(scaled < 0 ? "-" : "")\(abs(scaled) / Int64(scale)).\(padded)"
  }

  private static func percent(_ share: Double) -> String { "\(Int((min(max(share, 0), 1) * 100).rounded()))%" }

  private static func seconds(_ value: Double) -> String {
    switch value {
    case ..<1: "\(number(value * 1_000)) ms"
    case ..<120: "\(number(value)) s"
    case ..<7_200: "\(number(value / 60)) min"
    case ..<172_800: "\(number(value / 3_600)) h"
    default: "\(number(value / 86_400)) d"
    }
  }
}
