internal import CrashProtocol
internal import CrashReport

/// Builds the page for one request.
struct Page: Sendable {
  let site: Site
  let request: PageRequest
  let isTwin: Bool
  let isStatic: Bool
  let now_ns: UInt64

  var source: any PageSource { site.source }
  var series: HourSeries { HourSeries(now_ns: now_ns) }
  /// The text of the search box.
  var query: String { request.query["q"] ?? "" }
  /// The order of a list of issues; nil means the usual order.
  var sort: IssueQuery.Order? { request.query["sort"].flatMap { IssueQuery.Order(rawValue: $0) } }
  /// The cursor that selects the page of a list; nil means the first page.
  var cursor: String? { request.query["page"].flatMap { $0.isEmpty || $0.utf8.count > 200 ? nil : $0 } }

  /// Returns the page for the parts of the path.
  func answer(_ parts: [String]) async throws(SourceError) -> PageAnswer {
    // Do not truncate a longer search, because the rest would select other events.
    guard query.utf8.count <= SearchParser.limit else {
      throw .invalidSearch("a search has at most \(SearchParser.limit) bytes")
    }
    let scope = try await source.scope()
    switch (parts.first, parts.count) {
    case ("issues", 1): return list(scope, "/issues", limit: 25, try await issues(scope, limit: 25))
    case ("issues", 2):
      return list(scope, PagePath.issue(parts[1]), limit: 25, try await issue(parts[1], scope, limit: 25))
    case ("events", 1): return list(scope, "/events", limit: 50, try await events(scope, limit: 50))
    case ("events", 2):
      let view = EventView(try await source.event(parts[1]))
      return shown(view, scope, PagePath.event(parts[1]))
    default:
      guard parts.count == 1, let section = Section(path: parts[0]), scope.sections.contains(section.section) else {
        throw .notFound("page '\(request.path)'")
      }
      return try await answer(section, scope)
    }
  }

  /// Returns the page of a list.
  ///
  /// Halves the number of rows until the page is not too large. `make` makes the view with a number of rows, from data
  /// that was already read for `limit` rows.
  func list<View: PageView>(_ scope: Scope, _ path: String, limit: Int, _ make: (Int) -> View) -> PageAnswer {
    var limit = limit
    while true {
      let answer = shown(make(limit), scope, path)
      if isTwin || answer.body.count <= Site.pageBytes || limit <= 1 { return answer }
      limit = max(1, limit / 2)
    }
  }

  private func shown<View: PageView>(_ view: View, _ scope: Scope, _ path: String) -> PageAnswer {
    if isTwin { return site.json(view) }
    let isOfEvents = path == "/events"
    let frame = Frame(
      title: view.title, scope: CrashText.clip(scope.name, to: 80),
      views: Section.choices(scope, current: request.path),
      query: query, searchPath: isOfEvents ? "/events" : "/issues",
      twin: isStatic
        ? nil : PagePath.path("\(path).json", ["q": query, "sort": sort?.rawValue, "page": cursor]),
      isLive: View.isLive && cursor == nil && !isStatic, hasChanges: scope.hasChanges, isStatic: isStatic,
      time: Moment(Timestamp.string(since1970_ns: now_ns), now_ns: now_ns))
    return PageAnswer(contentType: PageAnswer.html, body: Array(site.html(view, frame).utf8))
  }

  func search(_ scope: Scope) throws(SourceError) -> Search {
    try SearchParser(terms: scope.terms, states: scope.states, now_ns: now_ns).parse(query)
  }

  /// Returns the search, limited to the last `hours` hours unless the search has its own start.
  func recent(_ search: Search, hours: Int) -> Search {
    var recent = search
    if recent.filter.since == nil { recent.filter.since = series.start(hours: hours) }
    return recent
  }
}

/// A view that a source can lack, with its path.
struct Section {
  var section: Scope.Section
  var path: String
  var name: String

  static let all = [
    Section(section: .timeline, path: "timeline", name: "Timeline"),
    Section(section: .incidents, path: "incidents", name: "Incidents"),
    Section(section: .useAfterFree, path: "use-after-free", name: "Use-after-free"),
    Section(section: .processes, path: "processes", name: "Processes"),
    Section(section: .builds, path: "builds", name: "Builds"),
    Section(section: .health, path: "health", name: "Health"),
    Section(section: .alarm, path: "alarm", name: "Alarm"),
  ]

  private init(section: Scope.Section, path: String, name: String) {
    (self.section, self.path, self.name) = (section, path, name)
  }

  init?(path: String) {
    guard let known = Self.all.first(where: { $0.path == path }) else { return nil }
    self = known
  }

  /// Returns the links to the views, in the order of the navigation.
  static func choices(_ scope: Scope, current: String) -> [Choice] {
    let all =
      [("Issues", "/issues"), ("Crashes", "/events")]
      + Self.all.filter { scope.sections.contains($0.section) }.map { ($0.name, "/" + $0.path) }
    return all.map { name, path in
      Choice(name: name, path: path, isCurrent: current == path || current.hasPrefix(path + "/"))
    }
  }
}
