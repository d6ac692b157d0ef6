internal import CrashProtocol
internal import CrashReport

// The pages of issues and events. Each method reads the data once, and returns a function that makes the view with a
// given number of rows. `Page.list` calls this function with fewer rows if the page is too large.
extension Page {
  func issues(_ scope: Scope, limit: Int) async throws(SourceError) -> (Int) -> IssuesView {
    let search = try search(scope)
    let order = sort ?? .last
    let slice = try await source.issues(
      IssueQuery(search: search, order: order, page: PageQuery(cursor: cursor, limit: limit)))
    let keys = slice.items.map(\.key)
    let counts =
      keys.isEmpty
      ? [] : try await source.hours(of: keys, Search(filter: ReportFilter(since: series.start(hours: 14 * 24))))
    let byKey = Dictionary(grouping: counts, by: \.key)
    let orders = IssueQuery.Order.allCases.compactMap { choice in
      let names: [IssueQuery.Order: String] = [.last: "last seen", .first: "first seen", .count: "count"]
      let path = PagePath.search("/issues", query, sort: choice == .last ? nil : choice.rawValue)
      return Choice(name: names[choice] ?? choice.rawValue, path: path, isCurrent: choice == order)
    }
    return { count in
      let slice = slice.prefix(count)
      return IssuesView(
        rows: slice.items.map { IssuesView.Row($0, byKey[$0.key] ?? [], series) }, states: states(search, scope),
        orders: orders, programs: programs(slice.items, search), hasHosts: slice.items.contains { $0.hosts != nil },
        hasLost: slice.items.contains { $0.lostRequests != nil },
        isFirstUse: slice.items.isEmpty && query.isEmpty && cursor == nil,
        hasProcesses: scope.sections.contains(.processes),
        next: slice.next.map { next($0) }, start: cursor == nil ? nil : next(nil))
    }
  }

  private func next(_ cursor: String?) -> String {
    PagePath.path("/issues", ["q": query, "sort": sort?.rawValue, "page": cursor])
  }

  /// The links that restrict the list to a state.
  private func states(_ search: Search, _ scope: Scope) -> [Choice] {
    let rest = Self.without(.state, query)
    let all = [Choice(name: "all", path: path(rest, nil), isCurrent: search.states == nil)]
    return all.compactMap(\.self)
      + scope.states.compactMap { state in
        Choice(
          name: state, path: path(rest, SearchParser.term(.state, state)), isCurrent: search.states == [state])
      }
  }

  /// The links that select one program for the list.
  private func programs(_ issues: [Issue], _ search: Search) -> [Choice] {
    if search.filter.name != nil {
      let rest = Self.without(.program, query)
      return [Choice(name: "all programs", path: path(rest, nil))].compactMap(\.self)
    }
    // Skip blank names, because a link needs visible text.
    let names = Set(issues.flatMap(\.programs)).filter { !CleanText.isBlank($0) }.sorted().prefix(12)
    return names.count < 2
      ? []
      : names.compactMap { name in
        SearchParser.term(.program, name).flatMap { Choice(name: CrashText.clip(name, to: 40), path: path(query, $0)) }
      }
  }

  private func path(_ query: String, _ term: String?) -> String? {
    let words = [query, term ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
    return PagePath.search("/issues", words, sort: sort?.rawValue)
  }

  /// Returns the query without the terms that have this key.
  static func without(_ term: SearchTerm, _ query: String) -> String {
    SearchParser.words(of: query).filter { word in
      word.unquotedColon.flatMap { SearchTerm(key: String(word.text[..<$0])) } != term
    }.compactMap { word -> String? in
      guard let colon = word.unquotedColon, let key = SearchTerm(key: String(word.text[..<colon])) else {
        return word.text.contains(where: \.isWhitespace) ? "\"\(word.text)\"" : word.text
      }
      return SearchParser.term(key, String(word.text[word.text.index(after: colon)...]))
    }.joined(separator: " ")
  }

  func issue(_ key: String, _ scope: Scope, limit: Int) async throws(SourceError) -> (Int) -> IssueView {
    let detail = try await source.issue(key)
    let own = Search(filter: ReportFilter(group: detail.issue.key))
    let slice = try await source.events(EventQuery(search: own, page: PageQuery(cursor: cursor, limit: limit)))
    let counts = try await source.hours(
      of: [detail.issue.key], Search(filter: ReportFilter(since: series.start(hours: 14 * 24))))
    return { IssueView(detail, counts, slice.prefix($0), cursor: cursor, series, terms: scope.terms) }
  }

  func events(_ scope: Scope, limit: Int) async throws(SourceError) -> (Int) -> EventsView {
    let slice = try await source.events(
      EventQuery(search: try search(scope), page: PageQuery(cursor: cursor, limit: limit)))
    return { count in
      let slice = slice.prefix(count)
      return EventsView(
        events: slice.items.map { IssueView.Row($0, now_ns: now_ns) }, total: slice.total.map { Figure($0) },
        next: slice.next.map { PagePath.path("/events", ["q": query, "page": $0]) },
        start: cursor == nil ? nil : PagePath.path("/events", ["q": query]))
    }
  }
}
