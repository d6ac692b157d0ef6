internal import CrashProtocol
internal import CrashReport

// The other pages.
extension Page {
  func answer(_ section: Section, _ scope: Scope) async throws(SourceError) -> PageAnswer {
    let path = "/" + section.path
    switch section.section {
    case .timeline: return try await list(scope, path, limit: 20, timeline)
    case .incidents: return try await list(scope, path, limit: 50, incidents)
    case .useAfterFree:
      let data = try await source.useAfterFree()
      return try await list(scope, path, limit: 60) { _, limit throws(SourceError) in
        UseAfterFreeView(data, limit: limit, now_ns: now_ns)
      }
    case .processes: return try await list(scope, path, limit: 100, processes)
    case .builds:
      let builds = try await source.builds(try search(scope))
      return try await list(scope, path, limit: 60) { _, limit throws(SourceError) in
        BuildsView(builds, limit: limit, now_ns: now_ns)
      }
    case .health:
      let health = try await source.health()
      return try await list(scope, path, limit: 100) { _, limit throws(SourceError) in HealthView(health, limit: limit)
      }
    case .alarm:
      let alarms = try await source.alarms()
      return try await list(scope, path, limit: 30) { _, limit throws(SourceError) in
        AlarmView(alarms, limit: limit, now_ns: now_ns)
      }
    }
  }

  private func timeline(_ scope: Scope, _ limit: Int) async throws(SourceError) -> TimelineView {
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
    return TimelineView(counts, issues.map { ($0, byKey[$0.key] ?? []) }, incidents, series, query: query)
  }

  private func incidents(_ scope: Scope, _ limit: Int) async throws(SourceError) -> IncidentsView {
    let search = try search(scope).filter
    let filter = IncidentFilter(route: search.route, name: search.name, since: search.since)
    let slice = try await source.incidents(
      IncidentSearch(filter: filter, page: PageQuery(cursor: cursor, limit: limit)))
    return IncidentsView(
      rows: slice.items.map { IncidentsView.Row($0, now_ns: now_ns) },
      next: slice.next.map { PagePath.path("/incidents", ["q": query, "page": $0]) },
      start: cursor == nil ? nil : PagePath.path("/incidents", ["q": query]))
  }

  private func processes(_: Scope, _ limit: Int) async throws(SourceError) -> ProcessesView {
    let slice = try await source.processes(PageQuery(cursor: cursor, limit: limit))
    return ProcessesView(
      rows: slice.items.map { ProcessesView.Row($0, now_ns: now_ns) },
      hasHosts: slice.items.contains { $0.host != nil }, total: slice.total.map { Figure($0) },
      next: slice.next.map { PagePath.path("/processes", ["page": $0]) }, start: cursor == nil ? nil : "/processes")
  }
}
