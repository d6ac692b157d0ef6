internal import CrashProtocol

/// One issue.
struct IssueView: PageView {
  static let template = "issue"

  /// One of the issue's events.
  struct Row: Encodable, Sendable {
    var event: Event
    var path: String
    var issuePath: String?
    var time: Moment
    var sentence: String
    var program: String

    private enum CodingKeys: CodingKey { case event }

    init(_ event: Event, now_ns: UInt64) {
      (self.event, path) = (event, PagePath.event(event.id))
      issuePath = event.issue.isEmpty ? nil : PagePath.issue(event.issue)
      time = Moment(event.time, now_ns: now_ns)
      sentence = CrashText.visible(event.sentence, to: 240, or: "crashed by \(event.signal)")
      program = CrashText.clip(event.program, to: 60)
    }
  }

  var title: String
  var issue: Issue
  var programs: String
  var count: Figure
  var first: Moment
  var last: Moment
  var firstBuild: String
  var lastBuild: String
  var hosts: Figure?
  var lost: Figure?
  var hours: BarPlot
  var days: BarPlot
  var shares: [Shares]
  var events: [Row]
  var newest: String?
  var next: String?
  var start: String?

  private enum CodingKeys: CodingKey { case issue, hours, days, shares, events, next }

  init(
    _ detail: IssueDetail, _ counts: [HourCount], _ events: Slice<Event>, cursor: String?, _ series: HourSeries,
    terms: [SearchTerm]
  ) {
    let issue = detail.issue
    (self.issue, title) = (issue, CrashText.visible(issue.title, to: 400, or: IssuesView.untitled))
    programs = IssuesView.programs(issue.programs)
    count = Figure(issue.count)
    (first, last) = (Moment(issue.first, now_ns: series.now_ns), Moment(issue.last, now_ns: series.now_ns))
    (firstBuild, lastBuild) = (BuildText.short(nil, issue.firstBuild), BuildText.short(nil, issue.lastBuild))
    (hosts, lost) = (issue.hosts.map { Figure($0) }, issue.lostRequests.map { Figure($0) })
    let search = { (hour: String) in
      PagePath.search("/events", "group:\(issue.key) since:\(hour):00:00Z until:\(hour):59:59.999999Z")
    }
    hours = BarPlot(
      series.points(counts, hours: 48, path: search), summary: "Crashes by hour, last 48 hours",
      ticks: ["48 h ago", "24 h", "now"])
    days = BarPlot(
      series.points(counts, days: 14), summary: "Crashes by day, last 14 days", ticks: ["14 d ago", "7 d", "today"])
    shares = detail.distributions.filter { !$0.values.isEmpty }.map { distribution in
      let term = SearchTerm(rawValue: distribution.property).flatMap { terms.contains($0) ? $0 : nil }
      return Shares(distribution) { value in
        term.flatMap { SearchParser.term($0, value) }.flatMap { PagePath.search("/events", "group:\(issue.key) \($0)") }
      }
    }
    self.events = events.items.map { Row($0, now_ns: series.now_ns) }
    newest = issue.newestEvent.map(PagePath.event)
    next = events.next.map { PagePath.path(PagePath.issue(issue.key), ["page": $0]) }
    start = cursor == nil ? nil : PagePath.issue(issue.key)
  }
}

/// A list of events.
struct EventsView: PageView {
  static let template = "events"

  var title = "Crashes"
  var events: [IssueView.Row]
  var total: Figure?
  var next: String?
  var start: String?

  private enum CodingKeys: CodingKey { case title, events, total, next }
}
