public import CrashProtocol
public import CrashReport

extension IncidentText {
  /// Formats sums of incidents, one line per sum.
  public static func sums(_ sums: [IncidentSum], by key: IncidentSum.Key, terminal: Terminal, legend: Bool) -> String {
    let common: [(Table.Column, (IncidentSum) -> String)] =
      switch key {
      case .name: [(.init(title: "NAME", minimum: 12, style: .bold), \.name)]
      case .kind: [(.init(title: "SOURCE"), \.source.rawValue), (.init(title: "KIND", style: .bold), \.kind.rawValue)]
      case .site:
        [
          (.init(title: "SOURCE", dropOrder: 1), \.source.rawValue), (.init(title: "KIND"), \.kind.rawValue),
          (.init(title: "PLACE", minimum: 12, style: .bold), \.place),
        ]
      }
    let figures: [(Table.Column, (IncidentSum) -> String)] = [
      (.init(title: "COUNT", alignsRight: true, style: .red), { "\($0.count)" }),
      (.init(title: "INCIDENTS", alignsRight: true, dropOrder: 3), { "\($0.incidents)" }),
      (.init(title: "PROCS", alignsRight: true, dropOrder: 2), { "\($0.processes)" }),
      (.init(title: "LAST", dropOrder: 4), { terminal.moment($0.last) }),
      (.init(title: "ID", minimum: 8, cut: .digits, dropOrder: 5, style: .dim), { id($0.id, terminal) }),
    ]
    let columns = figures + common
    let rows = sums.map { sum in columns.map { CleanText.line($0.1(sum)) } }
    return Table(columns: columns.map(\.0), rows: rows).text(for: terminal, legend: legend)
  }

  /// Formats an incident as one line, for `incidents follow`.
  public static func line(_ incident: IncidentReport, terminal: Terminal) -> String {
    let count = terminal.styled(CleanText.line("\(incident.count)×"), .bold)
    let process = CleanText.line("\(incident.process.name) (\(incident.process.pid))")
    let place = incident.site.map { " at \(CleanText.line($0))" } ?? ""
    let what = CleanText.line("\(incident.source) \(incident.kind): \(incident.sentence)")
    return Prose.wrapped(
      "\(terminal.clock.text(incident.last)) \(count) \(process) \(what)\(place)", terminal, indent: 2)
  }
}
