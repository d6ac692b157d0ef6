public import CrashProtocol
internal import CrashReport

extension IncidentText {
  /// Formats groups of incidents, one line per group.
  public static func groups(_ groups: [DanglingGroup], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "LAST", alignsRight: terminal.isBrief),
      .init(title: "HITS", alignsRight: true, style: .red),
      .init(title: "PROCS", alignsRight: true, dropOrder: 5, isDetail: true),
      .init(title: "BUILDS", alignsRight: true, dropOrder: 2, isDetail: true),
      .init(title: "FREED BY", alignsRight: true, dropOrder: 1, isDetail: true),
      .init(title: "DELAY", alignsRight: true, dropOrder: 4),
      .init(title: "NAME", minimum: 8, maximum: 20, dropOrder: 6, common: "name"),
      .init(title: "ID", minimum: 8, cut: .digits, style: .dim),
      .init(title: "MODE", dropOrder: 3, common: "mode"),
      .init(title: "CLASS", minimum: 12, style: .bold),
      .init(title: "WHAT", minimum: 24),
    ]
    let rows = groups.map { group in
      [
        terminal.moment(group.last), "\(group.count)", "\(group.processes)", "\(group.builds)",
        group.releases == 1 ? "1 site" : "\(group.releases) sites", group.age_ns.map(age) ?? "-", group.program,
        id(group.id, terminal), group.modes.map(\.rawValue).joined(separator: ", "), group.className, what(group),
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  /// Describes a group, such as `call of greet() in serve() (Shop.swift:12)`.
  private static func what(_ group: DanglingGroup) -> String {
    let method = group.method.map { " of \($0)" } ?? ""
    let place = group.place.isEmpty ? "" : " in \(group.place)" + (group.line.isEmpty ? "" : " (\(group.line))")
    return "\(group.kind)\(method)\(place)"
  }

  private static func age(_ nanoseconds: Int) -> String {
    switch nanoseconds {
    case ..<1_000_000: "\(max(0, nanoseconds) / 1_000) µs"
    case ..<1_000_000_000: "\(nanoseconds / 1_000_000) ms"
    default: Listings.duration(nanoseconds / 1_000_000_000)
    }
  }
}
