internal import CrashProtocol
internal import CrashReport

/// The crashes and incidents of the last days by hour.
struct TimelineView: PageView {
  static let template = "timeline"

  /// An issue with crashes in the displayed hours.
  struct Lane: Encodable, Sendable {
    var issue: Issue
    var title: String
    var path: String
    var count: Figure
    var plot: Sparkline

    private enum CodingKeys: CodingKey { case issue, count, plot }
  }

  var title = "Timeline"
  var crashes: BarPlot
  var crashCount: Figure
  var days: BarPlot
  var incidents: BarPlot?
  var lanes: [Lane]

  private enum CodingKeys: CodingKey { case crashes, days, incidents, lanes }

  static let hours = 48
  private static let ticks = ["48 h ago", "36 h", "24 h", "12 h", "now"]

  init(
    _ counts: [HourCount], _ issues: [(issue: Issue, hours: [HourCount])], _ incidents: [IncidentReport]?,
    _ series: HourSeries, query: String
  ) {
    let path = { (hour: String) in
      PagePath.search(
        "/events", "since:\(hour):00:00Z until:\(hour):59:59.999999Z" + (query.isEmpty ? "" : " \(query)"))
    }
    let points = series.points(counts, hours: Self.hours, path: path)
    crashCount = Figure.rounded(points.reduce(0.0) { $0 + Double($1.count) })
    crashes = BarPlot(points, summary: "Crashes by hour, last 48 hours", height: 110, ticks: Self.ticks)
    days = BarPlot(
      series.points(counts, days: 30), summary: "Crashes by day, last 30 days", ticks: ["30 d ago", "15 d", "today"])
    self.incidents = incidents.map { incidents in
      let last = incidents.map { HourCount(hour: String($0.last.prefix(13)), key: "", count: 1) }
      return BarPlot(
        series.points(last, hours: Self.hours), summary: "Incidents by hour of their last occurrence",
        ticks: Self.ticks)
    }
    lanes = issues.compactMap { issue, hours in
      let points = series.points(hours, hours: Self.hours)
      let count = points.reduce(0.0) { $0 + Double($1.count) }
      guard count > 0 else { return nil }
      let title = CrashText.visible(issue.title, to: 160, or: IssuesView.untitled)
      return Lane(
        issue: issue, title: title, path: PagePath.issue(issue.key), count: Figure.rounded(count),
        plot: Sparkline(points, period: "48 hours"))
    }
  }
}

/// The non-fatal incidents.
struct IncidentsView: PageView {
  static let template = "incidents"

  /// One incident.
  struct Row: Encodable, Sendable {
    var incident: IncidentReport
    var sentence: String
    var program: String
    var kind: String
    var place: String?
    var count: Figure
    var last: Moment

    private enum CodingKeys: CodingKey { case incident }
  }

  var title = "Incidents"
  var rows: [Row]
  var next: String?
  var start: String?

  private enum CodingKeys: CodingKey { case rows, next }
}

extension IncidentsView.Row {
  init(_ incident: IncidentReport, now_ns: UInt64) {
    self.incident = incident
    sentence = CrashText.clip(incident.sentence, to: 260)
    program = CrashText.clip(incident.process.name, to: 60)
    kind = CrashText.clip("\(incident.source.rawValue) · \(incident.kind.rawValue) · \(incident.mode.rawValue)", to: 80)
    place = (incident.site ?? incident.use.first { $0.isOwn }?.function).map { CrashText.clip($0, to: 160) }
    (count, last) = (Figure(incident.count), Moment(incident.last, now_ns: now_ns))
  }
}
