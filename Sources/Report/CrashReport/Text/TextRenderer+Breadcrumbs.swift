/// Renders breadcrumbs with these columns: the time before the crash, the level, the category, the message, the
/// metadata and the request. A column is omitted if it is empty for all breadcrumbs.
extension TextRenderer {
  func breadcrumbsSection(_ report: CrashReport) -> [String] {
    if report.breadcrumbs.isEmpty { return [] }
    // The short form shows only the last breadcrumbs, because these breadcrumbs are the most relevant. The verbose form
    // shows all breadcrumbs.
    let shown = verbose ? report.breadcrumbs[...] : report.breadcrumbs.suffix(12)
    let hidden = report.breadcrumbs.count - shown.count
    var lines = [style.strong("Breadcrumbs")]
    if hidden > 0 { lines.append(style.faint("  … \(hidden) older")) }
    let rows = shown.map { BreadcrumbRow($0, in: report) }
    let (time, level, category) = (widest(rows, \.time), widest(rows, \.level), widest(rows, \.category))
    return lines
      + rows.map { row in
        var cells = verbose ? [style.faint(row.absoluteTime)] : []
        cells.append(style.faint(row.time.rightAligned(time)))
        if level > 0 { cells.append(colored(row.level.padded(to: level), row.level)) }
        if category > 0 { cells.append(style.faint(row.category.padded(to: category))) }
        cells.append(row.text)
        if !row.metadata.isEmpty { cells.append(style.faint(row.metadata)) }
        return "  " + cells.joined(separator: "  ").trimmingEnd
      }
  }

  private func widest(_ rows: [BreadcrumbRow], _ column: KeyPath<BreadcrumbRow, String>) -> Int {
    min(32, rows.map { $0[keyPath: column].count }.max() ?? 0)
  }

  private func colored(_ text: String, _ level: String) -> String {
    switch CrashReport.Breadcrumb.Level(level) {
    case .error, .critical: style.alarm(text)
    case .warning: style.warning(text)
    case .trace, .debug: style.faint(text)
    default: text
    }
  }
}

/// The columns of one breadcrumb; the strings are safe to print.
private struct BreadcrumbRow {
  var time: String
  var absoluteTime: String
  var level: String
  var category: String
  var text: String
  var metadata: String

  init(_ breadcrumb: CrashReport.Breadcrumb, in report: CrashReport) {
    time = CleanText.line(report.relativeTime(of: breadcrumb))
    absoluteTime = CleanText.line(breadcrumb.time)
    level = CleanText.line(breadcrumb.level?.rawValue ?? "")
    category = CleanText.line(breadcrumb.category ?? "")
    text = CleanText.line(breadcrumb.text)
    let pairs = (breadcrumb.metadata ?? [:]).sorted { $0.key < $1.key }
      .map { "\(CleanText.line($0.key))=\(CleanText.line($0.value))" }
    let request = breadcrumb.request.map { "request \(CleanText.line(report.shortName(ofRequest: $0)))" }
    metadata = (pairs + (request.map { [$0] } ?? [])).joined(separator: " ")
  }
}
