/// Renders the sections that follow the stacks.
extension TextRenderer {
  func detailsSection(_ report: CrashReport) -> [String] {
    let process = report.process
    let pid = process.isPIDClaimed == true ? "pid \(process.pid) (claimed by the process)" : "pid \(process.pid)"
    var owner = "\(process.name), \(pid), uid \(process.uid)"
    if process.isRestricted == true { owner += " with more privileges than this user" }
    if let unit = process.unit { owner += ", unit \(unit)" }
    var cause = report.diagnosis.cause.rawValue
    if report.diagnosis.rule != cause { cause += ", by rule \(report.diagnosis.rule)" }
    cause += ", confidence \(Self.percent(report.diagnosis.confidence))"

    var rows = [
      ("Signal", describe(report.signal, in: report)), ("Raised", report.raisedAgain.map { "again: \($0.text)" } ?? ""),
      ("Cause", cause), ("Class", report.diagnosis.classText),
      ("Evidence", report.diagnosis.evidence ?? ""), ("Process", owner),
      ("Program", process.executable), ("Build", process.buildID), ("Arch", report.architectureText),
      ("Started", times.moment(process.startTime)),
      (report.death == nil ? "Crashed" : "Ended", times.moment(report.time)), ("Memory", memory(report)),
      ("Source", Self.sourceText(report)), ("Report", report.id),
      ("Group", Self.groupText(report)),
    ]
    if verbose, let timing = report.timing {
      let commit = timing.commit_ns.subtractingReportingOverflow(timing.entry_ns)
      let stored = timing.stored_ns.subtractingReportingOverflow(timing.entry_ns)
      if !commit.overflow && !stored.overflow {
        rows.append(
          ("Took", "\(commit.partialValue / 1_000) µs to record, \(stored.partialValue / 1_000) µs to store"))
      }
    }
    return rows.filter { !$0.1.isEmpty }.flatMap { title, text in
      let lines = CleanText.line(text).wrapped(to: prose - 9)
      return lines.enumerated().map { style.faint(($0 == 0 ? title : "").padded(to: 9)) + $1 }
    }
  }

  /// Returns the group as a readable line.
  ///
  /// A report that is not stored yet has no group. For a report without a group, the line states the reason.
  static func groupText(_ report: CrashReport) -> String {
    if report.isPreliminary == true { return "none yet: this report is preliminary, as its symbols are being read" }
    return "\(report.group.key)  \(report.group.title)"
  }

  /// Returns a line about memory.
  ///
  /// For an unreported exit, the line states the number of OOM kills. For a crash, the line states why no memory was
  /// stored.
  private func memory(_ report: CrashReport) -> String {
    guard let death = report.death, let kills = death.oomKills, kills > 0 else { return Self.memoryText(report) }
    return "\(counted(kills, "process", "processes")) killed for memory in cgroup \(death.cgroup ?? "?")"
  }

  /// Returns the reasons why function names or lines are missing.
  func symbolsSection(_ report: CrashReport) -> [String] {
    let lines = report.images.compactMap { image in
      image.symbols.map { "\(CleanText.line(image.path)): \(CleanText.line($0))" }
    }
    return lines.isEmpty
      ? [] : [style.strong("Missing symbols")] + lines.flatMap { $0.wrapped(to: width - 2) }.map { "  \($0)" }
  }

  /// Returns a compact section with facts.
  func factsSection(_ title: String, _ facts: [CrashReport.Fact]) -> [String] {
    if facts.isEmpty { return [] }
    let column = 11
    return [style.strong(title)]
      + facts.flatMap { name, text in
        CleanText.line(text).wrapped(to: width - column - 2).enumerated().map { index, line in
          "  " + style.faint((index == 0 ? name : "").padded(to: column)) + line
        }
      }
  }

  func annotationsSection(_ report: CrashReport) -> [String] {
    let others = report.otherAnnotations
    if others.isEmpty { return [] }
    let sorted = others.sorted { $0.key < $1.key }.map {
      (CleanText.line($0.key), CleanText.line($0.value))
    }
    let column = min(24, sorted.map(\.0.count).max() ?? 0)
    return [style.strong("Annotations")]
      + sorted.map { "  \(style.faint($0.0.padded(to: column)))  \($0.1)" }
  }

  /// Returns the lines that the Swift runtime had printed before this crash.
  func earlierWarningsSection(_ report: CrashReport) -> [String] {
    guard let warnings = report.earlierRuntimeWarnings, !warnings.isEmpty else { return [] }
    let shown = verbose ? warnings[...] : warnings.suffix(6)
    let hidden = warnings.count - shown.count
    var lines = [style.strong("Earlier runtime warnings")]
    if hidden > 0 { lines.append(style.faint("  … \(hidden) earlier")) }
    return lines + shown.flatMap { CleanText.line($0).wrapped(to: width - 2) }.map { "  \($0)" }
  }

  /// Returns the non-fatal incidents that occurred before the crash.
  func incidentsSection(_ report: CrashReport) -> [String] {
    guard let incidents = report.incidents, !incidents.isEmpty else { return [] }
    let shown = verbose ? incidents[...] : incidents.suffix(6)
    let hidden = incidents.count - shown.count + (report.incidentsOmitted ?? 0)
    var lines = [style.strong("Earlier incidents")]
    if hidden > 0 { lines.append(style.faint("  … \(hidden) earlier")) }
    for incident in shown {
      let time = shortTime(incident.last, in: report)
      let times = incident.count == 1 ? "once" : "\(incident.count) times"
      let text = "\(CleanText.line(incident.sentence)) (\(CleanText.line(incident.mode.rawValue)), \(times))"
      let rows = text.wrapped(to: max(20, width - time.count - 4))
      lines += rows.enumerated().map { index, row in
        "  \(style.faint(index == 0 ? time : String(repeating: " ", count: time.count)))  \(row)"
      }
    }
    return lines
  }

  /// Formats a time for a line of the report.
  ///
  /// The date is omitted if the time is on the day of the crash.
  private func shortTime(_ time: String, in report: CrashReport) -> String {
    CleanText.line(times.ofDay(time, report.time))
  }

  func registerLines(_ registers: [String: Address]) -> [String] {
    let cells = RegisterOrder.sorted(registers.keys).map { name in
      let value = (registers[name] ?? 0).rawValue.hexadecimal(digits: 16)
      return "\(style.faint(CleanText.line(name).rightAligned(6))) 0x\(value)"
    }
    let perLine = max(1, (width - 2) / 27)
    return stride(from: 0, to: cells.count, by: perLine).map { start in
      "  " + cells[start..<min(start + perLine, cells.count)].joined(separator: "  ")
    }
  }

  func imagesSection(_ report: CrashReport) -> [String] {
    if report.images.isEmpty { return [] }
    return [style.strong("Images")]
      + report.images.map { image in
        let range = "\(image.base)–\(image.end)".padded(to: 29)
        let build = image.buildID.isEmpty ? "no build id" : CleanText.line(image.buildID)
        return "  \(style.faint(range))  \(build.padded(to: 40))  \(CleanText.line(image.path))"
      }
  }

  func lossesSection(_ report: CrashReport) -> [String] {
    let losses = Self.losses(of: report)
    return losses.isEmpty ? [] : [style.warning("Not in this report")] + losses.map { "  " + style.warning($0) }
  }

  /// Returns one line for each kind of loss.
  static func losses(of report: CrashReport) -> [String] {
    let losses = report.losses.filter { $0.value != 0 }.sorted { $0.key < $1.key }
    return losses.map { kind, count in "\(count) × \(lossNames[kind] ?? CleanText.line(kind))" }
  }

  private static let lossNames = [
    "torn": "a record that its writer could not finish",
    "corrupt": "a record that was damaged after it was written",
    "overwritten": "a record that a later crash has overwritten",
    "noSlot": "a crash that found no free slot",
    "minimal": "a crash inside the crash handler: its record has no frames",
    "silentThreads": "a thread that had not finished its answer",
    "threads": "a thread that was not sampled",
    "threadList": "a list of the other threads, which could not be read",
    "images": "an image that did not fit into the table",
    "annotations": "an annotation that did not fit or was being written",
    "breadcrumbs": "a damaged breadcrumb",
    "requests": "a damaged entry of a request",
    "cutFrames": "a frame that had no room in the record line",
    "cutImages": "an image that had no room in the record line",
    "cutText": "a byte of a text that had no room in the record line",
    "cutAnnotations": "an annotation that had no room in the record line",
    "cutIncidents": "an incident that had no room in the record line",
    "cutBreadcrumbs": "a breadcrumb that had no room in the record line",
    "cutThreads": "a thread that had no room in the record line",
    "requestsTooLarge": "a request in flight that did not fit into the report",
  ]

  /// Formats a share as a percentage.
  static func percent(_ share: Double) -> String {
    // Check the range, because the share can come from an untrusted report and can have any value, including NaN.
    share >= 0 && share <= 1 ? "\(Int((share * 100).rounded())) %" : "unknown"
  }
}
