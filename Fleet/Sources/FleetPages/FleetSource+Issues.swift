public import CrashPages
public import CrashProtocol
internal import FleetStore

extension FleetSource {
  /// Returns a page of issues.
  public func issues(_ query: IssueQuery) async throws(SourceError) -> Slice<Issue> {
    let (offset, limit) = (try Self.offset(query.page.cursor), Int64(query.page.limit))
    let statement =
      switch query.order {
      case .last: Self.byLast
      case .first: Self.byFirst
      case .count: Self.byCount
      }
    let found = try await rows(statement, query.search, .int64(limit + 1) + .int64(offset))
    return Slice(found.prefix(query.page.limit).map(Self.issue), hasMore: found.count > limit) {
      String(offset + Int64($0))
    }
  }

  /// Returns the issue with this number, or else the issue with a group of this key.
  public func issue(_ key: String) async throws(SourceError) -> IssueDetail {
    let found = try await rows(Self.byLast, Search(filter: ReportFilter(group: key)), .int64(2) + .int64(0))
    guard let row = found.first else { throw .notFound("issue '\(key)'") }
    // Two programs may have groups with the same key.
    guard found.count == 1 else { throw .ambiguous("issue '\(key)'") }
    let number: Parameters = .int32(tenant) + .int64(row.integer(0))
    var distributions: [IssueDetail.Distribution] = []
    var (sampled, sample): ([String: [IssueDetail.Value]], Int?) = ([:], nil)
    for row in try await rows(Self.sample, number) {
      sampled[row.text(0), default: []].append(IssueDetail.Value(value: row.text(1), count: Int(row.integer(2))))
      sample = Int(row.integer(3))
    }
    for (term, statement) in [(SearchTerm.build, Self.builds), (.host, Self.hosts)] {
      let values = try await rows(statement, number).map {
        IssueDetail.Value(value: $0.text(0), count: Int($0.integer(1)))
      }
      guard !values.isEmpty else { continue }
      distributions.append(IssueDetail.Distribution(property: term.rawValue, values: values))
      sampled[term.rawValue] = nil
    }
    for term in [SearchTerm.host, .release, .environment, .signal, .route, .unit] {
      guard let values = sampled[term.rawValue] else { continue }
      distributions.append(IssueDetail.Distribution(property: term.rawValue, values: values, sample: sample))
    }
    return IssueDetail(issue: Self.issue(row), distributions: distributions)
  }

  /// Returns the numbers of crashes by hour, from the counters.
  public func hours(of issues: [String]?, _ search: Search) async throws(SourceError) -> [HourCount] {
    try SearchSQL.checkCounted(search)
    if let issues {
      let table = search.build == nil ? Self.hoursOfIssues : Self.hoursOfIssuesByBuild
      return Self.counts(try await rows(table, search, .int64s(issues.compactMap { Int64($0) })))
    }
    if let programs = SearchSQL.programParameters(search) {
      return Self.counts(try await rows(Self.programHours, .int32(tenant) + programs))
    }
    return Self.counts(try await rows(search.build == nil ? Self.allHours : Self.allHoursByBuild, search))
  }

  private static func counts(_ rows: [[String?]]) -> [HourCount] {
    rows.map { HourCount(hour: $0.text(0), key: $0.text(2), count: Int($0.integer(1))) }
  }

  private static func issue(_ row: [String?]) -> Issue {
    Issue(
      key: row.text(0), title: row.text(1), programs: [row.text(2)], count: Int(row.integer(3)),
      hosts: Int(row.integer(4)), first: time(row.integer(5)), last: time(row.integer(6)),
      builds: Int(row.integer(7)), firstBuild: row.text(8), lastBuild: row.text(9), release: row[10],
      state: row.text(11), newestEvent: row[12])
  }

  private static let byLast = list("last", order: "i.last_seen desc, i.id desc")
  private static let byFirst = list("first", order: "i.first_seen desc, i.id desc")
  private static let byCount = list("count", order: "i.crashes desc, i.id desc")

  // The statement selects the rows of the page first, so that it looks up the builds and the newest report of these
  // rows only.
  private static func list(_ name: String, order: String) -> Statement {
    Statement(
      name: "page_issues_\(name)",
      sql: """
        with page as materialized (
          select i.* from issue i where \(SearchSQL.issues)
          order by \(order) limit $\(SearchSQL.next)::bigint offset $\(SearchSQL.next + 1)::bigint)
        select i.id, i.title, i.program, i.crashes, i.hosts, (extract(epoch from i.first_seen) * 1e6)::bigint,
          (extract(epoch from i.last_seen) * 1e6)::bigint,
          (select count(distinct t.build) from alias a join alias_build t on t.alias = a.id
            where a.issue = i.id and t.crashes > 0),
          f.build, l.build, l.release, i.state, (
            select replace(r.id::text, '-', '') from alias a cross join lateral (
              select r.id, \(SearchSQL.time) newest from report r where r.alias = a.id order by newest desc limit 1) r
            where a.issue = i.id order by r.newest desc limit 1)
        from page i left join build f on f.id = i.first_build left join build l on l.id = i.last_build
        order by \(order)
        """)
  }

  private static let builds = Statement(
    name: "page_issue_builds",
    sql: """
      select b.build, sum(t.crashes)::bigint from alias a join alias_build t on t.alias = a.id
      join build b on b.id = t.build where a.tenant = $1::int and a.issue = $2::bigint and t.crashes > 0
      group by 1 order by 2 desc, 1 limit 100
      """)

  private static let hosts = Statement(
    name: "page_issue_hosts",
    sql: """
      select o.name, sum(p.crashes)::bigint from alias a join alias_host p on p.alias = a.id
      join host o on o.id = p.host where a.tenant = $1::int and a.issue = $2::bigint and p.crashes > 0
      group by 1 order by 2 desc, 1 limit 100
      """)

  // Only whole reports contain all of these properties. Therefore the statement counts them in the newest 100 reports.
  private static let sample = Statement(
    name: "page_issue_sample",
    sql: """
      with newest as materialized (
        select n.* from alias a cross join lateral (
          select r.host, r.release, r.environment, r.signal, r.route, r.unit, \(SearchSQL.time) newest from report r
          where r.alias = a.id order by \(SearchSQL.time) desc limit 100) n
        where a.tenant = $1::int and a.issue = $2::bigint order by n.newest desc limit 100)
      select v.property, v.value, count(*), (select count(*) from newest) from newest r join host o on o.id = r.host
      cross join lateral (values
        ('host', o.name), ('release', r.release), ('environment', r.environment), ('signal', r.signal),
        ('route', r.route), ('unit', r.unit)) v (property, value)
      where v.value <> '' group by 1, 2 order by 1, 3 desc, 2
      """)

  private static let allHours = hours("all", "alias_hour_sum")
  private static let allHoursByBuild = hours("all_of_build", "alias_hour")
  private static let hoursOfIssues = hours("issues", "alias_hour_sum", key: "a.issue", and: selected)
  private static let hoursOfIssuesByBuild = hours("issues_of_build", "alias_hour", key: "a.issue", and: selected)
  private static let selected = "and a.issue = any ($\(SearchSQL.next)::bigint[])"

  private static let programHours = Statement(
    name: "page_hours_programs",
    sql: """
      select \(hour), crashes, '' from (
        select h.hour, sum(h.crashes)::bigint crashes from program_hour h
        where h.tenant = $1::int and ($2::text is null or strpos(lower(h.program), lower($2::text)) > 0)
          and ($3::text is null or h.hour >= date_trunc('hour', $3::timestamptz))
          and ($4::text is null or h.hour <= $4::timestamptz)
        group by 1) h
      """)

  // The hour is formatted after the sums are computed. Formatting it in each row would take most of the statement's
  // time.
  private static let hour = "to_char(h.hour at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24')"

  private static func hours(
    _ name: String, _ table: String, key: String = "''", and condition: String = ""
  ) -> Statement {
    let builds = table == "alias_hour" ? "join build b on b.id = h.build" : ""
    let times = builds.isEmpty ? SearchSQL.times : SearchSQL.hours
    return Statement(
      name: "page_hours_\(name)",
      sql: """
        select \(hour), crashes, key::text from (
          select h.hour, sum(h.crashes)::bigint crashes, \(key) key
          from issue i join alias a on a.issue = i.id join \(table) h on h.alias = a.id \(builds)
          where \(SearchSQL.issues) and \(times) \(condition) group by 1, 3) h
        """)
  }
}
