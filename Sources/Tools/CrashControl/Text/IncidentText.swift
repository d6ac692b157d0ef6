public import CrashProtocol
public import CrashReport

/// The tables and texts of `incidents` and `dangling`.
public enum IncidentText: Sendable {
  /// A line an incident.
  public static func list(_ incidents: [IncidentReport], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "LAST"),
      .init(title: "COUNT", alignsRight: true, style: .bold),
      .init(title: "PID", alignsRight: true, dropOrder: 3),
      .init(title: "UID", alignsRight: true, dropOrder: 4),
      .init(title: "NAME", minimum: 8, maximum: 24, dropOrder: 2),
      .init(title: "ID", minimum: 22, cut: .digits, style: .dim),
      .init(title: "KIND"),
      .init(title: "MODE", dropOrder: 1),
      .init(title: "WHAT", minimum: 16),
    ]
    let rows = incidents.map { incident in
      [
        LocalTime.text(incident.last), "\(incident.count)", "\(incident.process.pid)", "\(incident.process.uid)",
        incident.process.name, incident.id, incident.kind.rawValue, incident.mode.rawValue, incident.sentence,
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  /// A line a class.
  public static func classes(_ classes: [ProtectedClassReport], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "PID", alignsRight: true),
      .init(title: "PROCESS", minimum: 8, maximum: 24, dropOrder: 4),
      .init(title: "CLASS", minimum: 12, style: .bold),
      .init(title: "MODE"),
      .init(title: "LIMIT", alignsRight: true, dropOrder: 3),
      .init(title: "BYTES", alignsRight: true, dropOrder: 2),
      .init(title: "KEPT", alignsRight: true),
      .init(title: "GONE", alignsRight: true, dropOrder: 1),
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

  /// All of one incident.
  public static func text(_ incident: IncidentReport, terminal: Terminal) -> String {
    let process = incident.process
    let thread = incident.useThread.map { "thread \($0)" } ?? "thread unknown"
    var lines = [
      terminal.styled(CleanText.line(incident.sentence), .bold),
      "",
      "Incident: \(incident.id) (\(incident.source), \(incident.kind), \(incident.mode))",
      "Process:  \(process.name) (\(process.pid)), uid \(process.uid), build \(process.buildID)",
      "Seen:     \(incident.count) times, \(LocalTime.text(incident.first)) to \(LocalTime.text(incident.last))",
      "Sure:     \(incident.confidence)",
    ]
    if let site = incident.site { lines.append("Site:     \(site)") }
    lines += ["", "\(heading(of: incident)) (\(thread)):"]
    lines += frames(incident.use)
    if let registers = incident.registers {
      lines += ["", "Registers:"] + self.registers(registers, order: incident.registerNames)
    }
    if let object = incident.object {
      lines += release(of: object, isPage: incident.source == .pages)
      if let allocation = object.allocation {
        let thread = object.allocationThread.map { "thread \($0)" } ?? "thread unknown"
        let size = object.bytes.map { ", \($0) bytes" } ?? ""
        lines += ["", "Allocation (\(thread))\(size):"] + frames(allocation)
      }
    } else if incident.source == .quarantine, incident.kind != .handle {
      lines += ["", "Last release: unknown, the object had just left the quarantine"]
    }
    return lines.enumerated().map { index, line in (index == 0 ? line : CleanText.line(line)) + "\n" }.joined()
  }

  /// Three a line, as in the report of a crash.
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

  /// The memory of a guard slot may not have been freed yet.
  private static func release(of object: IncidentReport.Object, isPage: Bool) -> [String] {
    let stack = object.release.isEmpty ? ["  no stack"] : frames(object.release)
    guard isPage else {
      return ["", "Last release (thread \(object.thread)), object \(object.address), record \(object.record):"] + stack
    }
    guard object.thread != 0 else { return ["", "Not freed yet: object \(object.address)"] }
    return ["", "Freed (thread \(object.thread)), object \(object.address):"] + stack
  }

  private static func frames(_ frames: [CrashReport.Frame]) -> [String] {
    frames.enumerated().map { index, frame in
      let name = frame.function.isEmpty ? frame.address.description : FunctionName.short(frame.function)
      let place = CrashReport.Frame.position(file: frame.file, line: frame.line)
      let image = frame.image.map { $0.split(separator: "/").last.map(String.init) ?? $0 } ?? ""
      return "  \(index)  \(name)" + (place.isEmpty ? (image.isEmpty ? "" : "  (\(image))") : "  \(place)")
    }
  }
}
