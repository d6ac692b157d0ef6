public import CrashProtocol
public import CrashReport

/// Formats the tables and texts of `incidents` and `dangling`.
public enum IncidentText: Sendable {
  /// Formats incidents, one line per incident.
  ///
  /// In an overview, all incidents of one kind and call site share one line, even if they are from different processes.
  public static func list(_ incidents: [IncidentReport], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "LAST", alignsRight: terminal.isBrief),
      .init(title: "COUNT", alignsRight: true, style: .bold),
      .init(title: "PROCS", alignsRight: true, dropOrder: 2),
      .init(title: "PID", alignsRight: true, dropOrder: 4, isDetail: true),
      .init(title: "UID", alignsRight: true, dropOrder: 5, common: "uid"),
      .init(title: "NAME", minimum: 8, maximum: 24, dropOrder: 3, common: "name"),
      .init(title: "ID", minimum: 8, cut: .digits, style: .dim),
      .init(title: "KIND", common: "kind"),
      .init(title: "MODE", dropOrder: 1, common: "mode"),
      .init(title: "REQUEST", maximum: 36, dropOrder: 6, isDetail: true),
      .init(title: "TRACE", cut: .digits, dropOrder: 7, isDetail: true),
      .init(title: "WHAT", minimum: 24),
    ]
    let groups = terminal.isBrief ? Folding.all(incidents, by: Place.init) : incidents.map { [$0] }
    let rows = groups.compactMap { group -> [String]? in
      guard let incident = group.first else { return nil }
      let count = group.reduce(0) { $0.addingReportingOverflow($1.count).partialValue }
      let processes = Set(group.map(\.process.pid)).count
      return [
        terminal.moment(incident.last), "\(count)", terminal.isBrief ? "\(processes)" : "", "\(incident.process.pid)",
        "\(incident.process.uid)", incident.process.name, id(incident.id, terminal), incident.kind.rawValue,
        incident.mode.rawValue, incident.request.map { $0.id ?? "\($0.number)" } ?? "",
        incident.request?.traceID ?? "", incident.sentence,
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  /// The kind and the call site of an incident, without its process.
  private struct Place: Hashable {
    var program, source, kind, mode, subject, place: String
    var uid: Int

    init(_ incident: IncidentReport) {
      let own = incident.use.first(where: \.isOwn)
      let line = CrashReport.Frame.position(file: own?.file, line: own?.line)
      (program, uid) = (incident.process.executable, incident.process.uid)
      (source, kind, mode) = (incident.source.rawValue, incident.kind.rawValue, incident.mode.rawValue)
      (subject, place) = (incident.subject, incident.site ?? "\(own?.function ?? "") \(line)")
    }
  }

  /// Returns the id of an incident.
  ///
  /// In an overview, returns only the first digits after the dash, which are enough to identify the incident.
  static func id(_ id: String, _ terminal: Terminal) -> String {
    guard terminal.isBrief, let dash = id.lastIndex(of: "-") else { return id }
    return String(id[id.index(after: dash)...].prefix(8))
  }

  /// Formats protected classes, one line per class.
  public static func classes(_ classes: [ProtectedClassReport], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "PID", alignsRight: true),
      .init(title: "NAME", minimum: 8, maximum: 24, dropOrder: 4, common: "name"),
      .init(title: "CLASS", minimum: 12, style: .bold),
      .init(title: "MODE", common: "mode"),
      .init(title: "LIMIT", alignsRight: true, dropOrder: 3),
      .init(title: "BYTES", alignsRight: true, dropOrder: 2),
      .init(title: "RETAINED", alignsRight: true),
      .init(title: "EVICTED", alignsRight: true, dropOrder: 1),
      .init(title: "HITS", alignsRight: true, style: .red),
      .init(title: "SKIPPED"),
    ]
    let rows = classes.map { counted in
      let skipped = counted.skipped.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
      return [
        "\(counted.pid)", counted.process, counted.name, counted.isProtected ? counted.mode.rawValue : "off",
        "\(counted.limit)", "\(counted.instanceBytes)", "\(max(0, counted.admitted - counted.evicted))",
        "\(counted.evicted)", "\(counted.hits)", skipped.isEmpty ? "none" : skipped.joined(separator: ", "),
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  /// Formats one incident with all its details.
  public static func text(_ incident: IncidentReport, terminal: Terminal) -> String {
    let process = incident.process
    let thread = incident.useThread.map { "thread \($0)" } ?? "thread unknown"
    let head = Prose.wrapped(terminal.styled(CleanText.line(incident.sentence), .bold), terminal)
    var facts: [(title: String, text: String, style: Terminal.Style?)] = [
      ("Incident", "\(incident.id) (\(incident.source), \(incident.kind), \(incident.mode))", nil),
      ("Process", "\(process.name) (\(process.pid)), uid \(process.uid), build \(process.buildID)", nil),
      ("Seen", seen(incident, terminal), nil),
      ("Confidence", "\(incident.confidence)", nil),
    ]
    if let site = incident.site { facts.append(("Site", site, nil)) }
    if let request = incident.request { facts.append(("Request", request.text, nil)) }
    var lines = ["\(heading(of: incident)) (\(thread)):"]
    lines += frames(incident.use, terminal)
    if let registers = incident.registers {
      lines += ["", "Registers:"] + self.registers(registers, order: incident.registerNames)
    }
    if let object = incident.object {
      lines += release(of: object, isPage: incident.source == .pages, terminal)
      if let allocation = object.allocation {
        let thread = object.allocationThread.map { "thread \($0)" } ?? "thread unknown"
        let size = object.bytes.map { ", \($0) bytes" } ?? ""
        lines += ["", "Allocation (\(thread))\(size):"] + frames(allocation, terminal)
      }
    } else if incident.source == .quarantine, incident.kind != .handle {
      lines += ["", "Last release: unknown, because the object had just left the quarantine"]
    }
    return head + "\n" + Prose.facts(facts, terminal) + "\n" + lines.map { CleanText.line($0) + "\n" }.joined()
  }

  /// Formats when an incident was seen, such as `once, 2026-11-21 08:10:11 CET` or `7 times, … to …`.
  private static func seen(_ incident: IncidentReport, _ terminal: Terminal) -> String {
    let (first, last) = (terminal.clock.text(incident.first), terminal.clock.text(incident.last))
    guard incident.count > 1 else { return "once, \(last)" }
    return "\(Listings.grouped(incident.count)) times, " + (first == last ? "all at \(last)" : "\(first) to \(last)")
  }

  /// Formats registers, three per line, as in a crash report.
  private static func registers(_ registers: [String: Address], order: [String]) -> [String] {
    let perLine = 3
    let cells = order.map { name in
      String(repeating: " ", count: max(0, 6 - name.count)) + name + " 0x"
        + (registers[name] ?? 0).rawValue.hexadecimal(digits: 16)
    }
    return stride(from: 0, to: cells.count, by: perLine).map { start in
      "  " + cells[start..<min(start + perLine, cells.count)].joined(separator: "  ")
    }
  }

  private static func heading(of incident: IncidentReport) -> String {
    switch incident.source {
    case .guarding: "First met"
    case .isolated: "Trapped"
    default: "Use"
    }
  }

  /// Formats the last release of an object.
  ///
  /// For an object in a guard page, the free is missing if the object was not freed before the access.
  private static func release(
    of object: IncidentReport.Object, isPage: Bool, _ terminal: Terminal
  ) -> [String] {
    let stack = object.release.isEmpty ? ["  no stack"] : frames(object.release, terminal)
    guard isPage else {
      return ["", "Last release (thread \(object.thread)), object \(object.address), record \(object.record):"] + stack
    }
    guard object.thread != 0 else { return ["", "Not freed yet: object \(object.address)"] }
    return ["", "Freed (thread \(object.thread)), object \(object.address):"] + stack
  }

  /// Formats frames, one line per frame.
  ///
  /// If one of the frames is in-app, adjacent frames that are not in-app are folded into one line.
  private static func frames(_ frames: [CrashReport.Frame], _ terminal: Terminal) -> [String] {
    let folds = frames.contains(where: \.isOwn)
    var lines: [String] = []
    var index = 0
    while index < frames.count {
      let runtime = folds ? frames[index...].prefix { !$0.isOwn } : []
      if runtime.count > 1 {
        let names = runtime.map(name).joined(separator: ", ")
        let text = "     … \(runtime.count) runtime frames: \(names)"
        lines.append(terminal.width.map { text.truncated(to: $0) } ?? text)
        index += runtime.count
      } else {
        lines.append(line(frames[index], index))
        index += 1
      }
    }
    return lines
  }

  private static func name(_ frame: CrashReport.Frame) -> String {
    frame.function.isEmpty ? frame.address.description : FunctionName.short(frame.function)
  }

  private static func line(_ frame: CrashReport.Frame, _ index: Int) -> String {
    let place = CrashReport.Frame.position(file: frame.file, line: frame.line)
    let image = frame.image.map { $0.split(separator: "/").last.map(String.init) ?? $0 } ?? ""
    return "  \(index)  \(name(frame))" + (place.isEmpty ? (image.isEmpty ? "" : "  (\(image))") : "  \(place)")
  }
}
