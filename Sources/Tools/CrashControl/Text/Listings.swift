public import CrashProtocol
internal import CrashReport

/// The tables and texts of `list`, `processes`, `status` and `follow`.
public enum Listings: Sendable {
  /// A line a report.
  public static func reports(_ summaries: [ReportSummary], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "TIME"),
      .init(title: "PID", alignsRight: true),
      .init(title: "UID", alignsRight: true, dropOrder: 2),
      .init(title: "SIGNAL", style: .red),
      .init(title: "NAME", minimum: 8, maximum: 24, dropOrder: 3),
      .init(title: "ID", minimum: 8, cut: .digits, style: .dim),
      .init(title: "FUNCTION", minimum: 10, maximum: 48, dropOrder: 4, style: .bold),
      .init(title: "AT", minimum: 14, maximum: 40, cut: .beginning, style: .cyan),
      .init(title: "REASON", minimum: 16, dropOrder: 1),
    ]
    let rows = summaries.map { summary in
      let isNameless = summary.isPreliminary == true && summary.function.isEmpty
      return [
        LocalTime.text(summary.time), "\(summary.pid)", "\(summary.uid)", summary.signal, summary.name,
        shortID(summary.id), isNameless ? "(symbols are being read)" : summary.function,
        CrashReport.Frame.position(file: summary.file, line: summary.line),
        summary.reason.isEmpty ? summary.sentence : summary.reason,
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  /// The last line of an incomplete list.
  public static func rest(_ count: Int?, of what: String, _ advice: String) -> String {
    let many = count.map { "\(grouped($0)) older \(what)" } ?? "older \(what)"
    return "\(many) \(count == 1 ? "is" : "are") not shown: \(advice)"
  }

  /// `99,900` for 99900.
  static func grouped(_ number: Int) -> String {
    let digits = String(number)
    return String(
      digits.enumerated().flatMap { place, digit in
        place > 0 && (digits.count - place) % 3 == 0 ? [",", digit] : [digit]
      })
  }

  /// A line a group.
  public static func groups(_ groups: [ReportGroup], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "COUNT", alignsRight: true, style: .bold),
      .init(title: "UID", alignsRight: true, dropOrder: 5),
      .init(title: "STATE"),
      .init(title: "FIRST", dropOrder: 3),
      .init(title: "LAST"),
      .init(title: "BUILDS", alignsRight: true, dropOrder: 4),
      .init(title: "NEW IN", minimum: 8, cut: .digits, dropOrder: 2, style: .dim),
      .init(title: "NAME", minimum: 8, maximum: 24, dropOrder: 1),
      .init(title: "GROUP", minimum: 8, cut: .digits, style: .dim),
      .init(title: "TITLE", minimum: 16),
    ]
    let rows = groups.map { group in
      [
        "\(group.count)", "\(group.uid)", group.state, LocalTime.text(group.first), LocalTime.text(group.last),
        "\(group.builds)", group.firstRelease ?? shortID(group.firstBuild), group.names.joined(separator: ", "),
        shortID(group.key), group.title,
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  /// A line a process.
  public static func processes(_ processes: [ProcessSummary], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "PID", alignsRight: true),
      .init(title: "UID", alignsRight: true),
      .init(title: "NAME", minimum: 8, maximum: 32, style: .bold),
      .init(title: "STATE"),
      .init(title: "MEMORY", dropOrder: 3),
      .init(title: "STARTED"),
      .init(title: "ATTACHED", dropOrder: 2),
      .init(title: "BUILD", minimum: 8, cut: .digits, dropOrder: 1, style: .dim),
      .init(title: "EXECUTABLE", minimum: 12, cut: .beginning),
    ]
    let rows = processes.map { process in
      [
        "\(process.pid)", "\(process.uid)", process.name, process.state, process.memory?.rawValue ?? "",
        LocalTime.text(process.startTime),
        LocalTime.text(process.attachTime), shortID(process.buildID), process.executable,
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  /// crashd's health, a line for each fact.
  public static func status(_ status: DaemonStatus, socketPath: String, terminal: Terminal) -> String {
    var facts = [
      ("crashd", "\(status.version), process \(status.pid), up \(duration(status.uptimeSeconds))"),
      ("socket", socketPath),
      ("processes", processes(status)),
      ("reports", "\(status.reports) stored\(status.storeBytes > 0 ? ", " + size(status.storeBytes) : "")"),
    ]
    if let access = status.access { facts.append(("access", AccessText.sentence(access))) }
    facts.append(("losses", counts(status.losses)))
    facts.append(("refusals", counts(status.refusals)))
    if let held = status.held, held > 0 { facts.append(("waiting", "\(held) reports, in memory")) }
    if let spooled = status.spooled, spooled > 0 { facts.append(("spool", "\(spooled) files wait")) }
    facts += (status.trouble ?? []).map { ("store", $0) }
    if let unwindings = status.unwindings { facts.append(("unwindings", counts(unwindings))) }
    // Most daemons have no debuginfod servers.
    if let fetches = status.debugInformation, !fetches.isEmpty { facts.append(("debug info", counts(fetches))) }
    let width = facts.map(\.0.count).max() ?? 0
    return facts.map { title, text in
      let padding = String(repeating: " ", count: width - title.count)
      let isBad = ["losses", "refusals", "store", "waiting"].contains(title) && text != "none"
      let value = terminal.styled(CleanText.line(text), isBad ? .red : nil)
      return padding + terminal.styled(title, .bold) + "  " + value + "\n"
    }.joined()
  }

  /// The number of attached processes, and of ended ones whose rings crashd still reads.
  static func processes(_ status: DaemonStatus) -> String {
    let attached = "\(status.processes - status.ending) attached"
    return status.ending == 0 ? attached : "\(attached), \(status.ending) ending"
  }

  /// A report in one line, for `follow`.
  public static func line(_ received: ReceivedReport, terminal: Terminal) -> String {
    let report = received.report
    let own = report.threads.first?.frames.first(where: \.isOwn)
    let place = CrashReport.Frame.position(file: own?.file, line: own?.line)
    // The sentence contains it in most cases.
    let isSaid = report.diagnosis.sentence.contains(place)
    let clean = CleanText.line
    return [
      LocalTime.text(clean(report.time)),
      terminal.styled(clean(report.process.name), .bold) + "[\(report.process.pid)]",
      terminal.styled(clean(report.signal.name), .red),
      clean(report.diagnosis.sentence),
      isSaid ? "" : terminal.styled(clean(place), .cyan),
      terminal.styled(clean(shortID(report.id)), .dim),
    ].filter { !$0.isEmpty }.joined(separator: " ") + "\n"
  }

  /// The first digits of an id, enough to identify a report on one machine.
  static func shortID(_ id: String) -> String { String(id.prefix(12)) }

  static func counts(_ counts: [String: Int]) -> String {
    let named = counts.filter { $0.value != 0 }.sorted { $0.key < $1.key }
    return named.isEmpty ? "none" : named.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
  }

  static func duration(_ seconds: Int) -> String { Quantity.duration(seconds) }

  static func size(_ bytes: Int) -> String { Quantity.size(bytes) }
}
