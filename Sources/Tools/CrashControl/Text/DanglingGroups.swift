public import CrashProtocol
public import CrashReport

extension DanglingGroup {
  private struct Key: Hashable {
    var program, className, kind, place: String
    var method: String?
    var uid: Int
  }

  /// Groups incidents, the group that was seen last first; what is no use of a dead object is left out.
  public static func groups(of incidents: [IncidentReport]) -> [DanglingGroup] {
    Dictionary(grouping: incidents.filter(isOfDeadObject)) { incident in
      Key(
        program: incident.process.name, className: incident.subject, kind: incident.kind,
        place: place(incident)?.function ?? "", method: incident.method, uid: incident.process.uid)
    }.values.compactMap(group).sorted { ($0.last, $0.id) > ($1.last, $1.id) }
  }

  /// Of guard slots: what reaches past an object has nothing to do with its end.
  private static func isOfDeadObject(_ incident: IncidentReport) -> Bool {
    incident.source == "quarantine"
      || incident.source == "pages" && ["read", "write", "doubleFree"].contains(incident.kind)
  }

  /// All of them have the same key.
  private static func group(_ incidents: [IncidentReport]) -> DanglingGroup? {
    guard let newest = incidents.max(by: { ($0.last, $0.id) < ($1.last, $1.id) }) else { return nil }
    let place = place(newest)
    let ages = incidents.compactMap { $0.object?.age_ns }.sorted()
    let releases = Set(incidents.compactMap { $0.object.flatMap { release($0) } })
    return DanglingGroup(
      id: newest.id, program: newest.process.name, className: newest.subject, kind: newest.kind, method: newest.method,
      place: place?.function ?? "", line: CrashReport.Frame.position(file: place?.file, line: place?.line),
      count: incidents.reduce(0) { sum, incident in
        let (result, isTooMuch) = sum.addingReportingOverflow(max(0, incident.count))
        return isTooMuch ? .max : result
      },
      processes: Set(incidents.map { $0.id.prefix { $0 != "-" } }).count,
      builds: Set(incidents.map(\.process.buildID)).count, releases: releases.count,
      modes: Set(incidents.map(\.mode)).sorted(), first: incidents.map(\.first).min() ?? newest.first,
      last: newest.last, age_ns: ages.isEmpty ? nil : ages[ages.count / 2],
      confidence: incidents.contains { $0.confidence == "certain" } ? "certain" : newest.confidence)
  }

  private static func place(_ incident: IncidentReport) -> CrashReport.Frame? {
    incident.use.first { $0.isOwn && !$0.function.isEmpty } ?? incident.use.first { !$0.function.isEmpty }
  }

  private static func release(_ object: IncidentReport.Object) -> String? {
    let frame = object.release.first { $0.isOwn && !$0.function.isEmpty } ?? object.release.first
    return frame.map { $0.function.isEmpty ? $0.address.description : $0.function }
  }
}

extension IncidentText {
  /// A line a group.
  public static func groups(_ groups: [DanglingGroup], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "LAST"),
      .init(title: "HITS", alignsRight: true, style: .red),
      .init(title: "PROCS", alignsRight: true, dropOrder: 5),
      .init(title: "BUILDS", alignsRight: true, dropOrder: 2),
      .init(title: "FREED BY", alignsRight: true, dropOrder: 1),
      .init(title: "AGE", alignsRight: true, dropOrder: 4),
      .init(title: "NAME", minimum: 8, maximum: 20, dropOrder: 6),
      .init(title: "ID", minimum: 22, cut: .digits, style: .dim),
      .init(title: "MODE", dropOrder: 3),
      .init(title: "CLASS", minimum: 12, style: .bold),
      .init(title: "WHAT", minimum: 12),
    ]
    let rows = groups.map { group in
      [
        LocalTime.text(group.last), "\(group.count)", "\(group.processes)", "\(group.builds)",
        group.releases == 1 ? "1 place" : "\(group.releases) places", group.age_ns.map(age) ?? "-", group.program,
        group.id, group.modes.joined(separator: ", "), group.className, what(group),
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  /// Such as `call of greet() in serve() (Shop.swift:12)`.
  private static func what(_ group: DanglingGroup) -> String {
    let method = group.method.map { " of \($0)" } ?? ""
    let place = group.place.isEmpty ? "" : " in \(group.place)" + (group.line.isEmpty ? "" : " (\(group.line))")
    return group.kind + method + place
  }

  private static func age(_ nanoseconds: Int) -> String {
    switch nanoseconds {
    case ..<1_000_000: "\(max(0, nanoseconds) / 1_000) µs"
    case ..<1_000_000_000: "\(nanoseconds / 1_000_000) ms"
    default: Listings.duration(nanoseconds / 1_000_000_000)
    }
  }
}
