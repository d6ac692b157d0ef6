// Renders the request of the crash, and the requests in flight.
extension TextRenderer {
  /// The maximum number of requests in flight that the text shows.
  static let requestLimit = 10

  /// Returns the lines of a thread's request.
  func requestLines(_ request: CrashReport.Request?) -> [String] {
    guard let request else { return [] }
    return "in request \(request.text)".wrapped(to: width)
  }

  static func name(of request: CrashReport.Request) -> String {
    request.operation.isEmpty ? "\(request.number)" : CleanText.line(request.operation)
  }

  static func age(of request: CrashReport.Request) -> String {
    CrashReport.span(nanoseconds: UInt64(clamping: request.age_ns))
  }

  /// Returns the oldest requests in flight with their ages, and the number of requests that are not shown.
  func requestsSection(_ report: CrashReport) -> [String] {
    guard let inFlight = report.inFlight else { return [] }
    let shown = inFlight.requests.prefix(Self.requestLimit)
    var lines = [style.strong("Requests in flight") + style.faint(": \(Self.summary(of: inFlight))")]
    let ages = shown.map(Self.age)
    let (age, name) = (
      ages.map(\.count).max() ?? 0, min(48, shown.map { Self.name(of: $0).count }.max() ?? 0)
    )
    for (request, text) in zip(shown, ages) {
      let id = request.id.map { "id \(CleanText.line($0))" } ?? ""
      let mark = request.crashed == true ? style.alarm("crashed") : ""
      let cells = [style.faint(text.rightAligned(age)), Self.name(of: request).padded(to: name), style.faint(id), mark]
      lines.append("  " + cells.filter { !$0.isEmpty }.joined(separator: "  ").trimmingEnd)
    }
    if let rest = Self.rest(of: inFlight, in: report) {
      lines.append(style.faint("  \(rest)" + (shown.isEmpty ? "" : ": --json")))
    }
    return lines
  }

  /// Describes the requests in flight that are not shown; nil if all are shown.
  static func rest(of inFlight: CrashReport.InFlight, in report: CrashReport) -> String? {
    let hidden = inFlight.total - min(inFlight.requests.count, requestLimit)
    guard hidden > 0 else { return nil }
    guard inFlight.requests.isEmpty else { return "… and \(hidden) more" }
    return report.isPreliminary == true
      ? "the complete report lists these requests" : "not listed, because the report would be too large"
  }

  static func summary(of inFlight: CrashReport.InFlight) -> String {
    guard inFlight.overflow > 0 else { return "\(inFlight.total)" }
    return "\(inFlight.total), and \(inFlight.overflow) began without a free entry since the process started"
  }
}

extension CrashReport.Request {
  /// The request as text, such as `GET /orders/{id} · id 7f3a · trace 4bf92f35 · begun 34 ms before · tier=gold`.
  package var text: String {
    var parts = [TextRenderer.name(of: self)]
    if let id { parts.append("id \(CleanText.line(id))") }
    if let traceID { parts.append("trace \(CleanText.line(traceID))") }
    if let spanID { parts.append("span \(CleanText.line(spanID))") }
    parts.append("begun \(TextRenderer.age(of: self)) before")
    let tags = (tags ?? [:]).sorted { $0.key < $1.key }
    parts += tags.map { "\(CleanText.line($0.key))=\(CleanText.line($0.value))" }
    return parts.joined(separator: " · ")
  }
}
