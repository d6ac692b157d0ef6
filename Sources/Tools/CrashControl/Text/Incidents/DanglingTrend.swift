public import CrashProtocol
internal import CrashReport

// Formats the output of `dangling trend`: crashes, detected accesses and running time by day.
extension DanglingText {
  /// The minimum number of days from which a trend can be estimated.
  private static let enoughDays = 7

  /// Formats the daily counts of each program: a bar chart for each count, then a line for each day with a count.
  ///
  /// Programs without use-after-free crashes or detected accesses are counted, but not shown.
  public static func trend(
    _ policies: [DanglingPolicyReport], build: String?, days: Int, terminal: Terminal, legend: Bool
  ) -> String {
    let told = policies.count == 1 ? policies : policies.filter(hasTold)
    return told.map { policy -> String in
      let shown = consecutive(policy.days).suffix(days)
      let crashes = shown.map { day in
        Double(build.map { build in day.builds.filter { $0.key.hasPrefix(build) }.values.reduce(0, +) } ?? day.crashes)
      }
      let sum = crashes.reduce(0, +)
      let span = "\(shown.count) \(shown.count == 1 ? "day" : "days")"
      let scarce = shown.count < enoughDays ? ", too few for a trend (\(shown.count) of \(enoughDays) days)" : ""
      // Show bars only if there are several days, because bars compare days.
      let bars = { (values: [Double]) in values.count > 1 ? Sparkline.text(values) + "  " : "" }
      let hits = shown.map(\.hits).reduce(0, +)
      var facts: [(title: String, text: String, style: Terminal.Style?)] = [
        ("crashes", "\(bars(crashes))\(number(sum)) in \(span)\(scarce)", nil)
      ]
      if hits > 0 { facts.append(("hits", "\(bars(shown.map { Double($0.hits) }))\(hits) caught", nil)) }
      let hours = shown.map(\.processHours).reduce(0, +)
      if hours > 0 {
        facts.append(("running", "\(bars(shown.map(\.processHours)))\(number(hours)) process hours", nil))
      }
      facts.append(("usual", "\(number(policy.usualPerDay)) crashes a day", nil))
      if let text = policy.lastSwitch { facts.append(("switched", text, nil)) }
      let rows = zip(shown, crashes).filter { $0.1 > 0 || $0.0.hits > 0 }.map { day, count in
        [day.date, number(count), "\(day.counted)", "\(day.hits)", number(day.processHours)]
      }
      let columns: [Table.Column] = [
        .init(title: "DAY"), .init(title: "CRASHES", alignsRight: true, style: .red),
        .init(title: "COUNTED", alignsRight: true), .init(title: "HITS", alignsRight: true),
        .init(title: "HOURS", alignsRight: true),
      ]
      let table = rows.isEmpty ? "" : "\n" + Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
      let head = terminal.styled(CleanText.line(policy.name), .bold) + ": " + CleanText.line(verdict(policy))
      return Prose.wrapped(head, terminal, indent: 2) + Prose.facts(facts, terminal) + table
    }.joined(separator: "\n") + quiet(policies.count - told.count)
  }

  /// Returns whether a program has any use-after-free crash or detected access to compare.
  private static func hasTold(_ policy: DanglingPolicyReport) -> Bool {
    policy.lastSwitch != nil || policy.evidence > 0 || policy.days.contains { $0.crashes > 0 || $0.hits > 0 }
  }

  private static func quiet(_ count: Int) -> String {
    guard count > 0 else { return "" }
    return "\(count) \(count == 1 ? "program" : "programs") without use-after-free not shown: give a name to see one\n"
  }

  /// The maximum number of lines for days.
  private static let mostDays = 180

  /// Inserts the days without crashes between the given days.
  private static func consecutive(_ days: [DanglingPolicyReport.Day]) -> [DanglingPolicyReport.Day] {
    var filled: [DanglingPolicyReport.Day] = []
    for day in days {
      while filled.count < mostDays, let last = filled.last, let next = CalendarFields.day(after: last.date),
        next < day.date
      {
        filled.append(
          DanglingPolicyReport.Day(date: next))
      }
      filled.append(day)
    }
    return filled
  }
}

/// Formats numbers as a row of bars, one character each.
public enum Sparkline: Sendable {
  private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

  /// Returns the bars.
  ///
  /// Zero is a dot, to distinguish it from a small number.
  ///
  /// The greatest number has the highest bar.
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
