extension HTMLRenderer {
  /// Returns a paragraph with the request of a thread; empty if the thread has no request.
  func request(_ request: CrashReport.Request?) -> HTMLText {
    request.map { "\n<p class=\"signal\">in request \($0.text)</p>" } ?? ""
  }

  /// Returns a paragraph that describes how containment reacted to the crash; empty if containment was off.
  func containment(_ report: CrashReport) -> HTMLText {
    report.containmentText.map { "\n<p class=\"signal\">\($0)</p>" } ?? ""
  }

  /// Returns the oldest requests in flight with their ages.
  func requests(_ report: CrashReport) -> HTMLText {
    guard let inFlight = report.inFlight else { return "" }
    let shown = inFlight.requests.prefix(TextRenderer.requestLimit)
    let rows: [HTMLText] = shown.map { request in
      let mark: HTMLText = request.crashed == true ? "<td class=\"alarm\">crashed</td>" : "<td></td>"
      return """
        <tr><td><time title="\(request.startTime)">\(TextRenderer.age(of: request))</time></td>\
        <td>\(TextRenderer.name(of: request))</td><td class="note">\(request.id ?? "")</td>\(mark)</tr>
        """
    }
    let rest: HTMLText = TextRenderer.rest(of: inFlight, in: report).map { "<p class=\"note\">\($0)</p>\n" } ?? ""
    return """
      <h2>Requests in flight: \(TextRenderer.summary(of: inFlight))</h2>
      <table class="breadcrumbs">
      \(rows.joined())</table>
      \(rest)
      """
  }
}
