import CrashClient
import CrashPages
import CrashProtocol
import CrashReport

extension CrashdSource {
  func incidents(_ query: IncidentSearch) async throws(SourceError) -> Slice<IncidentReport> {
    let offset = try Self.offset(query.page.cursor)
    return try await ask { client throws(ClientError) in
      let found = try client.incidents(
        IncidentQuery(limit: query.page.limit + 1, offset: offset, filter: query.filter))
      return Slice(Array(found.prefix(query.page.limit)), hasMore: found.count > query.page.limit) {
        String(offset + $0)
      }
    }
  }

  func useAfterFree() async throws(SourceError) -> UseAfterFree {
    try await ask { client throws(ClientError) in
      let incidents = try client.incidents(source: .quarantine, limit: 500)
      return UseAfterFree(
        classes: try client.danglingClasses().map(UseAfterFree.Class.init),
        groups: try client.danglingGroups(limit: 100).map(UseAfterFree.Group.init),
        delays_ns: incidents.compactMap { $0.object?.age_ns })
    }
  }

  func processes(_ query: PageQuery) async throws(SourceError) -> Slice<AttachedProcess> {
    let offset = try Self.offset(query.cursor)
    return try await ask { client throws(ClientError) in
      let all = try client.processes().sorted { ($0.name, $0.pid) < ($1.name, $1.pid) }
      let page = all.dropFirst(offset).prefix(query.limit)
      return Slice(
        page.map(AttachedProcess.init), hasMore: all.count > offset + query.limit, total: all.count
      ) { String(offset + $0) }
    }
  }

  func builds(_ search: Search) async throws(SourceError) -> [BuildSummary] {
    try await ask { client throws(ClientError) in
      var builds = BuildTable()
      for group in try client.groups(Self.filter(search), limit: BuildTable.groupLimit) {
        builds.add(group, try client.group(key: group.key).builds)
      }
      return builds.summaries
    }
  }

  func health() async throws(SourceError) -> ServiceHealth {
    try await ask { client throws(ClientError) in
      HealthText(status: try client.status(), subscribers: try client.subscribers()).health
    }
  }

  func alarms() async throws(SourceError) -> Alarms {
    try await ask { client throws(ClientError) in
      Alarms(
        programs: try client.danglingPolicies().map(Alarms.Program.init),
        decisions: try client.danglingEvents(limit: 100).map {
          Alarms.Decision(time: $0.decision.time, program: $0.name, text: $0.decision.text)
        })
    }
  }
}
