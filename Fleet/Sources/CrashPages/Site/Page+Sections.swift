internal import CrashProtocol
internal import CrashReport

// The pages that a source can lack, such as timeline, processes and health.
extension Page {
  func answer(_ section: Section, _ scope: Scope) async throws(SourceError) -> PageAnswer {
    let path = "/" + section.path
    switch section.section {
    case .timeline: return list(scope, path, limit: 20, try await timeline(scope, limit: 20))
    case .incidents: return list(scope, path, limit: 50, try await incidents(scope, limit: 50))
    case .useAfterFree:
      let data = try await source.useAfterFree()
      return list(scope, path, limit: 60) { UseAfterFreeView(data, limit: $0, now_ns: now_ns) }
    case .processes: return list(scope, path, limit: 100, try await processes(limit: 100))
    case .builds:
      let builds = try await source.builds(try search(scope))
      return list(scope, path, limit: 60) { BuildsView(builds, limit: $0, now_ns: now_ns) }
    case .health:
      let health = try await source.health()
      return list(scope, path, limit: 100) { HealthView(health, limit: $0) }
    case .alarm:
      let alarms = try await source.alarms()
      return list(scope, path, limit: 30) { AlarmView(alarms, limit: $0, now_ns: now_ns) }
    }
  }

  private func timeline(_ scope: Scope, limit: Int) async throws(SourceError) -> (Int) -> TimelineView {
    let search = try search(scope)
    let counts = try await source.hours(of: nil, recent(search, hours: 30 * 24))
    let near = recent(search, hours: TimelineView.hours)
    let issues = try await source.issues(
      IssueQuery(search: near, order: .count, page: PageQuery(cursor: nil, limit: limit))
    ).items
    let hours = issues.isEmpty ? [] : try await source.hours(of: issues.map(\.key), near)
    let byKey = Dictionary(grouping: hours, by: \.key)
    var incidents: [IncidentReport]?
    if scope.sections.contains(.incidents) {
      let filter = IncidentFilter(name: search.filter.name, since: near.filter.since)
      incidents = try await source.incidents(
        IncidentSearch(filter: filter, page: PageQuery(cursor: nil, limit: 500))
      ).items
    }
    return { [incidents] count in
      let lanes = issues.prefix(count).map { ($0, byKey[$0.key] ?? []) }
      return TimelineView(counts, lanes, incidents, series, query: query)
    }
  }

  private func incidents(_ scope: Scope, limit: Int) async throws(SourceError) -> (Int) -> IncidentsView {
    let search = try search(scope).filter
    let filter = IncidentFilter(route: search.route, name: search.name, since: search.since)
    let slice = try await source.incidents(
      IncidentSearch(filter: filter, page: PageQuery(cursor: cursor, limit: limit)))
    return { count in
      let slice = slice.prefix(count)
      return IncidentsView(
        rows: slice.items.map { IncidentsView.Row($0, now_ns: now_ns) },
        next: slice.next.map { PagePath.path("/incidents", ["q": query, "page": $0]) },
        start: cursor == nil ? nil : PagePath.path("/incidents", ["q": query]))
    }
  }

  private func processes(limit: Int) async throws(SourceError) -> (Int) -> ProcessesView {
    let slice = try await source.processes(PageQuery(cursor: cursor, limit: limit))
    return { count in
      let slice = slice.prefix(count)
      return ProcessesView(
        rows: slice.items.map { ProcessesView.Row($0, now_ns: now_ns) },
        hasHosts: slice.items.contains { $0.host != nil }, total: slice.total.map { Figure($0) },
        next: slice.next.map { PagePath.path("/processes", ["page": $0]) }, start: cursor == nil ? nil : "/processes")
    }
  }
}
