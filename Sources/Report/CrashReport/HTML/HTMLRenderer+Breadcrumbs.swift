extension HTMLRenderer {
  func breadcrumbs(_ report: CrashReport) -> HTMLText {
    if report.breadcrumbs.isEmpty { return "" }
    let rows: [HTMLText] = report.breadcrumbs.map { breadcrumb in
      let level: HTMLText =
        breadcrumb.level.map { "<td class=\"\(Self.style(of: $0))\">\($0.rawValue)</td>" } ?? "<td></td>"
      let metadata: HTMLText = (breadcrumb.metadata ?? [:]).sorted { $0.key < $1.key }.map {
        " <span class=\"note\">\($0.key)=\($0.value)</span>"
      }.reduce("", +)
      let request: HTMLText =
        breadcrumb.request.map { " <span class=\"note\">request \(report.shortName(ofRequest: $0))</span>" } ?? ""
      return """
        <tr><td><time title="\(breadcrumb.time)">\(report.relativeTime(of: breadcrumb))</time></td>\(level)\
        <td class="note">\(breadcrumb.category ?? "")</td><td>\(breadcrumb.text)\(metadata)\(request)</td></tr>
        """
    }
    return "<h2>Breadcrumbs</h2>\n<table class=\"breadcrumbs\">\n\(rows.joined())</table>\n"
  }

  private static func style(of level: CrashReport.Breadcrumb.Level) -> HTMLText {
    switch level {
    case .error, .critical: "alarm"
    case .warning: "place"
    case .trace, .debug: "note"
    default: "level"
    }
  }
}
