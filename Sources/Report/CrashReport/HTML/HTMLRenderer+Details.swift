/// Renders the sections that follow the stacks.
extension HTMLRenderer {
  func facts(_ report: CrashReport) -> HTMLText {
    let process = report.process
    let diagnosis = report.diagnosis
    let rows = [
      ("Raised again", report.raisedAgain?.text ?? ""),
      (
        "Cause",
        "\(diagnosis.cause), by rule \(diagnosis.rule), confidence \(TextRenderer.percent(diagnosis.confidence))"
      ),
      ("Class", diagnosis.classText), ("Evidence", diagnosis.evidence ?? ""),
      ("Process", "\(process.name), pid \(process.pid), uid \(process.uid)"), ("Unit", process.unit ?? ""),
      ("Program", process.executable), ("Build", process.buildID),
      ("Architecture", report.architectureText), ("Started", times.moment(process.startTime)),
      (report.death == nil ? "Crashed" : "Ended", times.moment(report.time)),
      ("Memory", TextRenderer.memoryText(report)), ("Source", TextRenderer.sourceText(report)), ("Report", report.id),
      ("Group", TextRenderer.groupText(report)),
    ]
    return list("Details", rows.filter { !$0.1.isEmpty })
  }

  /// Returns a list of facts with a title.
  ///
  /// Without facts, the result is empty.
  func list(_ title: String, _ facts: [CrashReport.Fact]) -> HTMLText {
    if facts.isEmpty { return "" }
    let cells: [HTMLText] = facts.map { "<div><dt>\($0.title)</dt><dd>\($0.text)</dd></div>" }
    return "<h2>\(title)</h2>\n<dl class=\"facts\">\n\(cells.joined())</dl>"
  }

  func notes(_ report: CrashReport) -> HTMLText {
    var html: HTMLText = ""
    let others = report.otherAnnotations
    if !others.isEmpty {
      let cells: [HTMLText] = others.sorted { $0.key < $1.key }.map {
        "<div><dt>\($0.key)</dt><dd>\($0.value)</dd></div>"
      }
      html = html + "<h2>Annotations</h2>\n<dl class=\"facts\">\n\(cells.joined())</dl>\n"
    }
    html = html + breadcrumbs(report) + requests(report)
    if let warnings = report.earlierRuntimeWarnings, !warnings.isEmpty {
      let rows: [HTMLText] = warnings.map { "<li>\($0)</li>" }
      html = html + "<h2>Earlier runtime warnings</h2>\n<ol class=\"breadcrumbs\">\n\(rows.joined())</ol>\n"
    }
    if let incidents = report.incidents, !incidents.isEmpty {
      let rows: [HTMLText] = incidents.map { incident in
        let time: HTMLText = "<time datetime=\"\(incident.last)\">\(before(incident.last, report))</time>"
        let times = incident.count == 1 ? "once" : "\(incident.count) times"
        return "<li>\(time) \(incident.sentence) (\(incident.mode.rawValue), \(times))</li>"
      }
      let omitted: HTMLText = report.incidentsOmitted.map { "<li>… \($0) earlier</li>" } ?? ""
      html = html + "<h2>Earlier incidents</h2>\n<ol class=\"breadcrumbs\">\n\(omitted)\(rows.joined())</ol>\n"
    }
    return html
  }

  /// Returns the time relative to the crash, such as `−14 ms`.
  ///
  /// If one of the two times cannot be parsed, returns the time of day.
  private func before(_ time: String, _ report: CrashReport) -> String {
    guard let crash = Timestamp.nanoseconds(rfc3339: report.time), let own = Timestamp.nanoseconds(rfc3339: time),
      own <= crash
    else { return times.ofDay(time, report.time) }
    switch crash - own {
    case let short where short < 10_000_000: return "−\(short / 1_000) µs"
    case let some where some < 10_000_000_000: return "−\(some / 1_000_000) ms"
    case let long where long < 600_000_000_000: return "−\(long / 1_000_000_000) s"
    default: return times.ofDay(time, report.time)
    }
  }

  func images(_ report: CrashReport) -> HTMLText {
    if report.images.isEmpty { return "" }
    let rows: [HTMLText] = report.images.map { image in
      let build = image.buildID.isEmpty ? "no build id" : image.buildID
      return """
        <tr><td>\(image.base.description)</td><td>\(image.end.description)</td><td>\(build)</td>\
        <td>\(image.path)</td></tr>
        """
    }
    return """
      <details class="images"><summary>\(counted(report.images.count, "image"))</summary>
      <table>
      <thead><tr><th>from</th><th>to</th><th>build id</th><th>path</th></tr></thead>
      <tbody>
      \(rows.joined())</tbody>
      </table></details>
      """
  }

  func losses(_ report: CrashReport) -> HTMLText {
    let rows: [HTMLText] = TextRenderer.losses(of: report).map { "<li>\($0)</li>" }
    return rows.isEmpty ? "" : "<h2>Not in this report</h2>\n<ul class=\"losses\">\n\(rows.joined())</ul>"
  }
}
