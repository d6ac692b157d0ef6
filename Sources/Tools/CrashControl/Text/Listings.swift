public import CrashProtocol
internal import CrashReport

/// Formats the tables of `list`, `groups` and `processes`, and the lines of `follow`.
public enum Listings: Sendable {
  /// Formats reports, one line per report.
  ///
  /// In an overview, adjacent reports of the same group and program share one line.
  ///
  /// `isWhole` is false for the first page of a long list. The columns of this page must also fit the rows of later
  /// pages.
  public static func reports(
    _ summaries: [ReportSummary], terminal: Terminal, legend: Bool, isWhole: Bool = true
  ) -> String {
    var columns: [Table.Column] = [
      .init(title: terminal.isBrief ? "AGE" : "TIME", alignsRight: terminal.isBrief),
      .init(title: "", style: .bold),
      .init(title: "PID", alignsRight: true),
      .init(title: "UID", alignsRight: true, dropOrder: 1, common: "uid"),
      .init(title: "SIGNAL", dropOrder: 3, common: "signal", style: .red),
      .init(title: "NAME", minimum: 8, maximum: 24, dropOrder: 4, common: "name"),
      .init(title: "CONTAINER", minimum: 12, maximum: 32, dropOrder: 6, common: "container"),
      .init(title: "ID", minimum: 8, cut: .digits, style: .dim),
      .init(title: "FUNCTION", minimum: 16, maximum: 48, dropOrder: 5, style: .bold),
      .init(title: "AT", minimum: 14, maximum: 40, cut: .beginning, style: .cyan),
      .init(title: "REASON", minimum: 16, dropOrder: 2),
    ]
    let folds = terminal.isBrief && isWhole
    let folded = Folding.neighbors(summaries) { summary -> [String]? in
      guard folds, !summary.groupKey.isEmpty else { return nil }
      return [summary.groupKey, "\(summary.uid)", summary.name]
    }
    var rows = folded.map { row -> [String] in
      let summary = row.item
      let isNameless = summary.isPreliminary == true && summary.function.isEmpty
      return [
        terminal.moment(summary.time), Folding.times(row.count), "\(summary.pid)", "\(summary.uid)", summary.signal,
        summary.name, container(summary.containerID, pod: summary.pod), shortID(summary.id),
        isNameless ? "(symbols are being read)" : summary.function,
        CrashReport.Frame.position(file: summary.file, line: summary.line),
        reason(summary, isBrief: terminal.isBrief),
      ].map(CleanText.line)
    }
    // Rows are folded only in an overview.
    if !folds {
      columns.remove(at: 1)
      for index in rows.indices { rows[index].remove(at: 1) }
    }
    return Table(columns: columns, rows: rows, isWhole: isWhole).text(for: terminal, legend: legend)
  }

  /// Returns the name of the pod, or else the first digits of the container's id.
  ///
  /// The result is empty for a process without a container.
  private static func container(_ id: String?, pod: String?) -> String { pod ?? id.map(shortID) ?? "" }

  /// Returns the runtime error message, or the diagnosis if there is none.
  ///
  /// In an overview, the call site and "Fatal error:" before the message are omitted.
  private static func reason(_ summary: ReportSummary, isBrief: Bool) -> String {
    if summary.reason.isEmpty { return summary.sentence }
    guard isBrief, let range = summary.reason.firstRange(of: "Fatal error: "),
      range.upperBound < summary.reason.endIndex
    else { return summary.reason }
    return String(summary.reason[range.upperBound...])
  }

  /// Returns the last line of an incomplete list, which says how many items are not shown.
  public static func rest(_ count: Int?, of what: String, _ advice: String) -> String {
    let many = count.map { "\(grouped($0)) older \(what)" } ?? "older \(what)"
    return "\(many) \(count == 1 ? "is" : "are") not shown: \(advice)"
  }

  /// Formats a number with separators: `99,900` for 99900.
  static func grouped(_ number: Int) -> String {
    let digits = String(number)
    return String(
      digits.enumerated().flatMap { place, digit in
        place > 0 && (digits.count - place) % 3 == 0 ? [",", digit] : [digit]
      })
  }

  /// Formats groups, one line per group.
  public static func groups(_ groups: [ReportGroup], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "COUNT", alignsRight: true, style: .bold),
      .init(title: "UID", alignsRight: true, dropOrder: 4, common: "uid"),
      .init(title: "STATE", dropOrder: 6, common: "state"),
      .init(title: "FIRST", alignsRight: terminal.isBrief, dropOrder: 3),
      .init(title: "LAST", alignsRight: terminal.isBrief),
      .init(title: "BUILDS", alignsRight: true, dropOrder: 2, common: "builds"),
      .init(title: "NEW IN", minimum: 8, cut: .digits, dropOrder: 1, common: "new in build", style: .dim),
      .init(title: "NAME", minimum: 8, maximum: 24, dropOrder: 5, common: "name"),
      .init(title: "GROUP", minimum: 8, cut: .digits, style: .dim),
      .init(title: "TITLE", minimum: 40),
    ]
    let rows = groups.map { group in
      [
        "\(group.count)", "\(group.uid)", group.state, terminal.moment(group.first), terminal.moment(group.last),
        "\(group.builds)", group.firstRelease ?? shortID(group.firstBuild),
        names(group.names, isBrief: terminal.isBrief),
        shortID(group.key), group.title,
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  /// Joins names.
  ///
  /// In an overview, only the first program name and the number of further names are shown.
  private static func names(_ names: [String], isBrief: Bool) -> String {
    guard isBrief, let first = names.first, names.count > 1 else { return names.joined(separator: ", ") }
    return "\(first) +\(names.count - 1)"
  }

  /// Formats processes, one line per process.
  public static func processes(_ processes: [ProcessSummary], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "PID", alignsRight: true),
      .init(title: "UID", alignsRight: true, common: "uid"),
      .init(title: "NAME", minimum: 8, maximum: 32, style: .bold),
      .init(title: "CONTAINER", minimum: 12, maximum: 32, dropOrder: 4, common: "container"),
      .init(title: "STATE", common: "state"),
      .init(title: "MEMORY", dropOrder: 3, common: "memory"),
      .init(title: terminal.isBrief ? "UP" : "STARTED", alignsRight: terminal.isBrief),
      .init(title: "ATTACHED", alignsRight: terminal.isBrief, dropOrder: 2),
      .init(title: "BUILD", minimum: 8, cut: .digits, dropOrder: 1, style: .dim),
      .init(title: "EXECUTABLE", minimum: 12, cut: .beginning),
    ]
    let rows = processes.map { process in
      [
        "\(process.pid)", "\(process.uid)", process.name, container(process.containerID, pod: process.pod),
        process.state, process.memory?.rawValue ?? "",
        terminal.moment(process.startTime), terminal.moment(process.attachTime), shortID(process.buildID),
        process.executable,
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  /// Describes the number of attached processes, and of ended processes whose rings crashd still reads.
  static func processes(_ status: DaemonStatus) -> String {
    let attached = "\(status.processes - status.ending) attached"
    return status.ending == 0 ? attached : "\(attached), \(status.ending) ending"
  }

  /// Formats a report as one line, for `follow`.
  public static func line(_ received: ReceivedReport, terminal: Terminal) -> String {
    let report = received.report
    let own = report.threads.first?.frames.first(where: \.isOwn)
    let place = CrashReport.Frame.position(file: own?.file, line: own?.line)
    // Omit the crash's source location if the sentence already contains it, which is the usual case.
    let isSaid = report.diagnosis.sentence.contains(place)
    let clean = CleanText.line
    let line = [
      terminal.clock.text(clean(report.time)),
      terminal.styled(clean(report.process.name), .bold) + "[\(report.process.pid)]",
      terminal.styled(clean(report.signal.name), .red),
      clean(report.diagnosis.sentence),
      isSaid ? "" : terminal.styled(clean(place), .cyan),
      terminal.styled(clean(shortID(report.id)), .dim),
    ].filter { !$0.isEmpty }.joined(separator: " ")
    return Prose.wrapped(line, terminal, indent: 2)
  }

  /// Returns the first 12 digits of an id, which are enough to identify a report on one machine.
  static func shortID(_ id: String) -> String { String(id.prefix(12)) }

  static func counts(_ counts: [String: Int]) -> String {
    let named = counts.filter { $0.value != 0 }.sorted { $0.key < $1.key }
    return named.isEmpty ? "none" : named.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
  }

  static func duration(_ seconds: Int) -> String { Quantity.duration(seconds) }

  static func size(_ bytes: Int) -> String { Quantity.size(bytes) }
}
