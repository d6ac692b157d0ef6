public import CrashPages
internal import CrashProtocol
internal import CrashReport
internal import FleetStore

extension FleetSource {
  /// Returns at most 100 builds whose crashes match the search, in descending order of the time at which the fleet
  /// first saw them.
  public func builds(_ search: Search) async throws(SourceError) -> [BuildSummary] {
    try SearchSQL.checkCounted(search)
    let isOfAllTimes = search.filter.since == nil && search.filter.until == nil
    return try await rows(isOfAllTimes ? Self.all : Self.within, search).map { row in
      BuildSummary(
        programs: [row.text(0)], build: row.text(1), release: row[2], count: Int(row.integer(3)),
        issues: Int(row.integer(4)), newIssues: Int(row.integer(5)), first: Self.time(row.integer(6)),
        last: Self.time(row.integer(7)))
    }
  }

  /// Returns the checks of the database, and the hosts of the tenant.
  public func health() async throws(SourceError) -> ServiceHealth {
    let findings: [FleetStore.Finding]
    do throws(FleetError) { findings = try await store.diagnose(tenant: tenant) } catch {
      throw .unavailable("\(error)")
    }
    let level: ServiceHealth.Level =
      findings.contains { $0.level == .bad } ? .bad : findings.contains { $0.level == .warning } ? .notice : .good
    let worst = findings.first { $0.level == .bad } ?? findings.first { $0.level == .warning }
    let sum = try await rows(Self.countHosts, .int32(tenant)).first ?? []
    let hosts = try await rows(Self.lastHosts, .int32(tenant)).map { row in
      ServiceHealth.Fact(
        row.text(0), "last seen \(row.text(1)) UTC" + (row[2].map { ", the clock is \($0) s ahead" } ?? ""),
        row[2] == nil ? nil : .notice)
    }
    return ServiceHealth(
      sentence: worst.map { $0.text } ?? "The database keeps what hosts send.", level: level,
      sections: [
        .init("Database", findings.map { .init($0.level.rawValue, $0.text, Self.level($0.level)) }),
        .init(
          "Hosts",
          [.init("Hosts", count: Int(sum.integer(0))), .init("Seen in the last 24 hours", count: Int(sum.integer(1)))]),
        .init("Hosts seen last", hosts),
      ].filter { !$0.facts.isEmpty })
  }

  private static func level(_ level: FleetStore.Finding.Level) -> ServiceHealth.Level {
    switch level {
    case .good: .good
    case .warning: .notice
    case .bad: .bad
    }
  }

  private static let all = builds("all", "alias_build", first: "first_hour", last: "last_hour", where: SearchSQL.build)
  private static let within = builds("within", "alias_hour", first: "hour", last: "hour", where: SearchSQL.hours)

  private static func builds(
    _ name: String, _ table: String, first: String, last: String, where condition: String
  ) -> Statement {
    Statement(
      name: "page_builds_\(name)",
      sql: """
        select b.program, b.build, b.release, sum(h.crashes)::bigint, count(distinct i.id),
          count(distinct i.id) filter (where i.first_build = b.id),
          (extract(epoch from min(h.\(first))) * 1e6)::bigint, (extract(epoch from max(h.\(last))) * 1e6)::bigint
        from issue i join alias a on a.issue = i.id join \(table) h on h.alias = a.id join build b on b.id = h.build
        where \(SearchSQL.issues) and \(condition) and h.crashes > 0
        group by b.id order by b.id desc limit 100
        """)
  }

  private static let countHosts = Statement(
    name: "page_count_hosts",
    sql: """
      select count(*), count(*) filter (where last_seen > now() - interval '1 day') from host where tenant = $1::int
      """)

  private static let lastHosts = Statement(
    name: "page_hosts",
    sql: """
      select name, to_char(last_seen at time zone 'UTC', 'YYYY-MM-DD HH24:MI'),
        case when abs(clock_ahead_ms) > 60000 then clock_ahead_ms / 1000 end
      from host where tenant = $1::int order by last_seen desc, id desc limit 80
      """)
}
