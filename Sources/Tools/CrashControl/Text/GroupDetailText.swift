public import CrashProtocol
internal import CrashReport

/// Formats one group, with its crashes by build and by day.
public enum GroupDetailText: Sendable {
  /// The maximum number of days in the row of bars.
  private static let mostDays = 30

  /// Formats the title, the facts, the builds and the days.
  public static func text(_ detail: GroupDetail, terminal: Terminal) -> String {
    guard let first = detail.groups.max(by: { $0.last < $1.last }) else { return "" }
    let count = detail.groups.reduce(0) { $0 + $1.count }
    let names = Set(detail.groups.flatMap(\.names)).sorted().joined(separator: ", ")
    let start = detail.groups.map(\.first).min() ?? first.first
    let clock = terminal.clock
    let since = terminal.width == nil ? "" : ", \(clock.age(start)) ago"
    let ago = terminal.width == nil ? "" : ", \(clock.age(first.last)) ago"
    let facts: [(title: String, text: String, style: Terminal.Style?)] = [
      ("group", first.key, nil), ("state", states(detail.groups), nil),
      ("count", "\(counted(count, "crash", "crashes")) in \(counted(detail.builds.count, "build", "builds"))", nil),
      ("first", clock.text(start) + since, nil), ("last", clock.text(first.last) + ago, nil), ("program", names, nil),
    ]
    return Prose.wrapped(terminal.styled(CleanText.line(first.title), .bold), terminal) + "\n"
      + Prose.facts(facts, terminal) + days(detail.days, terminal) + "\n" + builds(detail.builds, terminal)
  }

  private static func counted(_ count: Int, _ one: String, _ many: String) -> String {
    "\(Listings.grouped(count)) \(count == 1 ? one : many)"
  }

  /// Returns the state of the group: one word, or one word per user if the states for the users differ.
  private static func states(_ groups: [ReportGroup]) -> String {
    let all = Set(groups.map(\.state))
    return all.count == 1
      ? all.joined() : groups.map { "\($0.state) of uid \($0.uid)" }.joined(separator: ", ")
  }

  private static func builds(_ builds: [GroupDetail.Build], _ terminal: Terminal) -> String {
    let columns: [Table.Column] = [
      .init(title: "BUILD", minimum: 12, maximum: 40, cut: .digits),
      .init(title: "COUNT", alignsRight: true, style: .bold),
      .init(title: "FIRST", alignsRight: terminal.isBrief), .init(title: "LAST", alignsRight: terminal.isBrief),
    ]
    let rows = builds.map { build in
      [
        build.build.isEmpty ? "unknown" : build.build, "\(build.count)", terminal.moment(build.first),
        terminal.moment(build.last),
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: true)
  }

  /// Formats the most recent days: a row of bars, then one entry per day.
  private static func days(_ days: [GroupDetail.Day], _ terminal: Terminal) -> String {
    guard let latest = days.first, days.count > 1 else { return "" }
    let counts = Dictionary(days.map { ($0.date, $0.count) }, uniquingKeysWith: +)
    var dates = [latest.date]
    while dates.count < mostDays, let date = dates.last, date > days[days.count - 1].date,
      let before = CalendarFields.day(before: date)
    { dates.append(before) }
    let values = dates.reversed().map { Double(counts[$0] ?? 0) }
    let shown = dates.filter { counts[$0] != nil }.map { "\($0) \(counts[$0] ?? 0)" }
    let text = "\(Sparkline.text(values))  \(dates.last ?? "") to \(latest.date): " + shown.joined(separator: ", ")
    return Prose.facts([("by day", text, nil)], terminal)
  }
}
