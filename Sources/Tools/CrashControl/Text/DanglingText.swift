public import CrashProtocol
internal import CrashReport

/// The tables and texts of `dangling policy`, `trend`, `events` and `statistics`.
public enum DanglingText: Sendable {
  /// A line a program.
  public static func policies(_ policies: [DanglingPolicyReport], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "NAME", minimum: 8, maximum: 24, style: .bold),
      .init(title: "UID", alignsRight: true, dropOrder: 3),
      .init(title: "LEVEL"),
      .init(title: "PIN"),
      .init(title: "ALARM", dropOrder: 2),
      .init(title: "BUDGET", alignsRight: true, dropOrder: 4),
      .init(title: "CRASHES", alignsRight: true, style: .red),
      .init(title: "OBEYING", alignsRight: true),
      .init(title: "CLASSES", minimum: 16),
      .init(title: "PROGRAM", minimum: 12, cut: .beginning, dropOrder: 1, style: .dim),
    ]
    let rows = policies.map { policy in
      [
        policy.name, "\(policy.uid)", policy.level.rawValue, policy.pin.rawValue,
        policy.isAutomaticAllowed ? "protects" : "reports",
        Listings.size(policy.budgetBytes), "\(policy.days.map(\.crashes).reduce(0, +))",
        "\(policy.obeying)/\(policy.processes)", classes(policy), policy.program,
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  private static func classes(_ policy: DanglingPolicyReport) -> String {
    let names = (policy.includesOwnClasses ? ["all of its own"] : []) + policy.classes.map(\.name)
    return names.isEmpty ? "none" : names.joined(separator: ", ")
  }

  /// All of one program's policy.
  public static func policy(_ policy: DanglingPolicyReport, events: [DanglingEventReport], terminal: Terminal) -> String
  {
    var facts = [
      ("program", "\(policy.program), uid \(policy.uid)"),
      ("level", "\(policy.level), up to \(Listings.size(policy.budgetBytes)) in each process"),
      (
        "pin",
        policy.pin.rawValue + (policy.pin == .automatic ? "" : ": takes precedence over the alarm and the stop rule")
      ),
      ("alarm", alarm(policy)),
      ("budgets", "\(Listings.size(policy.baseBudgetBytes)) base, \(Listings.size(policy.raisedBudgetBytes)) raised"),
      (
        "processes",
        policy.processes == 0 ? "none is attached" : "applied in \(policy.obeying) of \(policy.processes)"
      ),
    ]
    if let stop = policy.stop { facts.append(("until", self.stop(stop))) }
    if let text = policy.lastSwitch, let time = policy.lastSwitchTime {
      facts.append(("switched", "\(LocalTime.text(time)): \(text)"))
    }
    var text = terminal.styled(CleanText.line(policy.name), .bold) + "\n" + list(facts, terminal)
    let width = policy.classes.map(\.name.count).max() ?? 0
    if policy.includesOwnClasses { text += "\nAll of its own classes are protected: no crash named a class.\n" }
    if !policy.classes.isEmpty { text += "\nClasses:\n" }
    for known in policy.classes {
      let padding = String(repeating: " ", count: width - known.name.count)
      text += CleanText.line(
        "  \(known.name)\(padding)  \(known.mode), \(known.limit) objects, by the \(known.listedBy)")
      text += "\n"
    }
    for name in policy.releasedClasses { text += CleanText.line("  \(name)  never, by the operator") + "\n" }
    for (name, reason) in policy.refusals.sorted(by: { $0.key < $1.key }) {
      text += CleanText.line("  \(name.isEmpty ? "settings" : name): \(reason)") + "\n"
    }
    if !events.isEmpty { text += "\nDecisions:\n" }
    for event in events {
      text += "  \(LocalTime.text(event.decision.time))  \(CleanText.line(event.decision.text))\n"
    }
    return text
  }

  /// The result of a change.
  public static func change(_ what: String, _ change: DanglingChange) -> String {
    let running =
      change.processes == 0
      ? "none of their processes is attached"
      : "applied in \(change.obeying) of \(change.processes) attached processes"
    return CleanText.line("\(what) in \(change.services.joined(separator: ", ")): \(running)") + "\n"
  }

  private static func alarm(_ policy: DanglingPolicyReport) -> String {
    let action = policy.isAutomaticAllowed ? "protects by itself" : "only reports"
    let loop =
      policy.crashLoopSeconds == 0
      ? "each restart counts" : "at most one in \(number(policy.crashLoopSeconds)) s counts"
    return "\(action); evidence \(number(policy.evidence)) of \(number(policy.alarmThresholdDays)), "
      + "baseline \(number(policy.usualPerDay)) crashes a day, \(loop)"
  }

  private static func stop(_ stop: DanglingPolicyReport.Stop) -> String {
    "\(stop.runWithoutNewGroup) of \(stop.enoughHitsWithoutNewGroup) hits in a row without a new place "
      + "(\(stop.hits) from \(stop.groups)), evidence of a drop \(number(stop.dropEvidence)) of "
      + "\(number(stop.dropThreshold)), \(number(stop.days)) of \(number(stop.atMostDays)) days"
  }

  /// The days of some programs: a row of bars, and a line a day.
  public static func trend(
    _ policies: [DanglingPolicyReport], build: String?, days: Int, terminal: Terminal, legend: Bool
  ) -> String {
    policies.map { policy in
      let shown = consecutive(policy.days).suffix(days)
      let crashes = shown.map { day in
        Double(build.map { build in day.builds.filter { $0.key.hasPrefix(build) }.values.reduce(0, +) } ?? day.crashes)
      }
      var facts = [
        ("crashes", "\(Sparkline.text(crashes))  \(number(crashes.reduce(0, +))) in \(shown.count) days"),
        ("hits", "\(Sparkline.text(shown.map { Double($0.hits) }))  \(shown.map(\.hits).reduce(0, +)) caught"),
        (
          "hours",
          "\(Sparkline.text(shown.map(\.processHours)))  \(number(shown.map(\.processHours).reduce(0, +))) of its processes"
        ),
        ("usual", "\(number(policy.usualPerDay)) crashes a day"),
        ("alarm", alarm(policy)),
        ("level", policy.level.rawValue),
      ]
      if let text = policy.lastSwitch { facts.append(("switched", text)) }
      let rows = zip(shown, crashes).filter { $0.1 > 0 || $0.0.hits > 0 }.map { day, count in
        [day.date, number(count), "\(day.counted)", "\(day.hits)", number(day.processHours)]
      }
      let columns: [Table.Column] = [
        .init(title: "DAY"), .init(title: "CRASHES", alignsRight: true, style: .red),
        .init(title: "COUNTED", alignsRight: true), .init(title: "HITS", alignsRight: true),
        .init(title: "HOURS", alignsRight: true),
      ]
      let table = rows.isEmpty ? "" : "\n" + Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
      return terminal.styled(CleanText.line(policy.name), .bold) + "\n" + list(facts, terminal) + table
    }.joined(separator: "\n")
  }

  /// The maximum number of lines.
  private static let mostDays = 180

  /// The next day's date; nil for what is none.
  private static func dayAfter(_ date: String) -> String? {
    let parts = date.split(separator: "-").compactMap { Int($0) }
    guard let day = CalendarFields(date: parts, time: [0, 0]) else { return nil }
    return String(CalendarFields(day.seconds(.utc) + 86_400, .utc).text(separator: " ").prefix(10))
  }

  /// The days, including those without crashes.
  private static func consecutive(_ days: [DanglingPolicyReport.Day]) -> [DanglingPolicyReport.Day] {
    var filled: [DanglingPolicyReport.Day] = []
    for day in days {
      while filled.count < mostDays, let last = filled.last, let next = dayAfter(last.date), next < day.date {
        filled.append(
          DanglingPolicyReport.Day(date: next))
      }
      filled.append(day)
    }
    return filled
  }

  /// The decisions, a line each.
  public static func events(_ events: [DanglingEventReport], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "TIME"), .init(title: "NAME", minimum: 8, maximum: 24, style: .bold),
      .init(title: "UID", alignsRight: true, dropOrder: 2), .init(title: "ACTION", dropOrder: 1),
      .init(title: "WHAT", minimum: 24),
    ]
    let rows = events.map { event in
      [
        LocalTime.text(event.decision.time), event.name, "\(event.uid)", event.decision.action.rawValue,
        event.decision.text,
      ]
      .map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  /// The estimates, a line a class and build.
  public static func statistics(_ classes: [DanglingClass], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "PROCESS", minimum: 8, maximum: 20, dropOrder: 3),
      .init(title: "CLASS", minimum: 12, style: .bold),
      .init(title: "BUILD", minimum: 8, maximum: 8, cut: .digits, dropOrder: 2, style: .dim),
      .init(title: "FREED/S", alignsRight: true),
      .init(title: "KEEPS", alignsRight: true),
      .init(title: "FOR", alignsRight: true),
      .init(title: "CATCHES", alignsRight: true),
      .init(title: "HITS", alignsRight: true, style: .red),
      .init(title: "USES", alignsRight: true),
      .init(title: "CRASHES", alignsRight: true, dropOrder: 4),
      .init(title: "BETTER", alignsRight: true, dropOrder: 1),
    ]
    let rows = classes.map { found in
      let figures = found.figures
      let chance = figures.detection.map {
        "\(percent($0.estimate)) (\(percent($0.interval.lower))–\(percent($0.interval.upper)))"
      }
      return [
        found.process, figures.className, figures.build, number(figures.deallocationsPerSecond),
        number(figures.slots), figures.horizonSeconds.map(seconds) ?? "ever", chance ?? "not known",
        number(figures.hits), "\(number(figures.estimatedAccesses)) ± \(number(figures.estimatedAccessesDeviation))",
        number(figures.attributedCrashes), "\(figures.suggestedSlots)",
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  private static func list(_ facts: [(String, String)], _ terminal: Terminal) -> String {
    let width = facts.map(\.0.count).max() ?? 0
    return facts.map { title, text in
      let padding = String(repeating: " ", count: width - title.count)
      return padding + terminal.styled(title, .bold) + "  " + CleanText.line(text) + "\n"
    }.joined()
  }

  /// A number with a sensible number of digits.
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

/// A row of numbers as a row of bars, one character each.
public enum Sparkline: Sendable {
  private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

  /// Zero is a dot, so that it differs from a small number; the greatest number has the highest bar.
  public static func text(_ values: [Double]) -> String {
    let most = values.filter(\.isFinite).max() ?? 0
    return String(
      values.map { value in
        guard value > 0, most > 0 else { return "·" }
        guard value.isFinite else { return "█" }
        return bars[min(bars.count - 1, Int(value / most * Double(bars.count - 1)))]
      })
  }
}
