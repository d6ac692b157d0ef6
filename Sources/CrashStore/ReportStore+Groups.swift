import GRDB

/// Reports of one kind and one user: what a list of groups shows.
public struct ReportGroup: Sendable, Equatable {
  /// What the operator knows of a group.
  public enum State: String, Sendable {
    /// It was first seen in the newest build of its program, which has earlier ones.
    case new
    /// It happens.
    case open
    /// Somebody said that it is mended, and it has not happened since.
    case resolved
    /// It came back after that.
    case regressed
  }

  /// Its key.
  public var key: String
  /// Whose processes; what another user's programs do under the same key is another group.
  public var uid: Int
  /// For people.
  public var title: String
  /// How many crashes there were, with those of which retention has removed the report.
  public var count: Int
  /// When it was first seen, RFC 3339 in UTC.
  public var first: String
  /// When it was last seen.
  public var last: String
  /// How many builds have it.
  public var buildCount: Int
  /// The build in which it was first seen; empty where that is not known.
  public var firstBuild: String
  /// The build in which it was last seen.
  public var lastBuild: String
  /// The names of the programs, at most eight.
  public var names: [String]
  /// What the operator knows of it.
  public var state: State
  /// The newest report; empty when all of them are removed.
  public var report: String
}

extension ReportStore {
  private static let nameLimit = 8

  /// Groups, the one that was seen last first; of the reports that pass the filter.
  ///
  /// What is kept of removed reports says neither process nor unit nor signal: with one of these in the filter, only
  /// reports that are there are counted.
  /// - Parameters:
  ///   - filter: Of which reports.
  ///   - visibility: Whose.
  ///   - offset: So many groups are left out before the first.
  ///   - limit: How many at most.
  /// - Returns: The groups.
  /// - Throws: `StoreError.unavailable`.
  public func groups(
    _ filter: ReportFilter = ReportFilter(), visibility: Visibility = .all, offset: Int = 0, limit: Int
  ) throws(StoreError) -> [ReportGroup] {
    let pool = pool
    return try Self.translating(path) {
      try pool.read { database in
        let wanted = Restriction(filter, visibility)
        guard let wanted else { return [] }
        // Those with reports and those without are in two tables, each in an order that serves it: a group that is
        // among the last of both together is among the last of one of them.
        let rows = try Row.fetchAll(
          database,
          sql: """
            SELECT group_key AS key, uid, max(last) AS last FROM (
              SELECT * FROM (SELECT group_key, uid, max(time) AS last FROM group_reports \(wanted.clause)
                GROUP BY group_key, uid ORDER BY last DESC, group_key, uid LIMIT :limit + :offset)
              UNION ALL
              SELECT * FROM (SELECT group_key, uid, max(last) AS last FROM group_past \(wanted.pastClause)
                GROUP BY group_key, uid ORDER BY last DESC, group_key, uid LIMIT :limit + :offset))
            GROUP BY group_key, uid ORDER BY last DESC, key, uid LIMIT :limit OFFSET :offset
            """, arguments: wanted.arguments(["limit": limit, "offset": offset]))
        var builds = NewestBuilds()
        return try rows.compactMap { try Self.group($0, wanted, &builds, in: database) }
      }
    }
  }

  /// Says that a group is mended, or that it is not: of the reports that may be seen.
  /// - Returns: The whole key.
  /// - Throws: `StoreError.noSuchGroup`, also where several begin with `prefix`; `unavailable`.
  public func setResolved(
    _ isResolved: Bool, group prefix: String, at time: String, visibility: Visibility = .all
  ) throws(StoreError) -> String {
    let pool = pool
    return try Self.translating(path) {
      guard !prefix.isEmpty, let wanted = Restriction(ReportFilter(group: prefix), visibility) else {
        throw StoreError.noSuchGroup(key: prefix)
      }
      // Looked up without the writer, which stores crashes meanwhile.
      let found = try pool.read { database in
        try Row.fetchAll(
          database,
          sql: """
            SELECT group_key, uid FROM group_reports \(wanted.clause)
            UNION SELECT group_key, uid FROM group_past \(wanted.pastClause) LIMIT 1000
            """, arguments: wanted.arguments([:]))
      }
      let keys = Set(found.map { $0["group_key"] as String })
      guard let key = keys.first, keys.count == 1 else { throw StoreError.noSuchGroup(key: prefix) }
      try pool.write { database in
        for row in found {
          let uid: Int64 = row["uid"]
          if isResolved {
            try database.execute(
              sql: "INSERT OR REPLACE INTO group_states (group_key, uid, resolved_time) VALUES (?, ?, ?)",
              arguments: [key, uid, time])
          } else {
            try database.execute(
              sql: "DELETE FROM group_states WHERE group_key = ? AND uid = ?", arguments: [key, uid])
          }
        }
      }
      return key
    }
  }

  /// nil when nothing of the group is there; within one transaction that does not happen.
  private static func group(
    _ row: Row, _ wanted: Restriction, _ builds: inout NewestBuilds, in database: Database
  ) throws -> ReportGroup? {
    let key: String = row["key"]
    let uid: Int64 = row["uid"]
    let own = wanted.narrowed(to: key, uid)
    // Each end stands at an end of the tables' order.
    let edge = { (order: String, of: (reports: String, past: String)) in
      try Row.fetchOne(
        database,
        sql: """
          SELECT build, title, executable, first, last FROM (
            SELECT * FROM (SELECT build, title, executable, time AS first, time AS last, id FROM group_reports
              \(own.clause) ORDER BY \(of.reports), id LIMIT 1)
            UNION ALL
            SELECT * FROM (SELECT build, title, executable, first, last, '' AS id FROM group_past
              \(own.pastClause) ORDER BY \(of.past) LIMIT 1))
          ORDER BY \(order), id LIMIT 1
          """, arguments: own.arguments([:]))
    }
    guard let oldest = try edge("first", ("time", "first")),
      let newest = try edge("last DESC", ("time DESC", "last DESC"))
    else { return nil }
    let first: String = oldest["first"]
    let last: String = newest["last"]
    // Two passes over the group's rows: one that told the counts of each build and name would have to sort them.
    let count = try Int.fetchOne(
      database,
      sql: """
        SELECT (SELECT count(*) FROM group_reports \(own.clause))
          + (SELECT ifnull(sum(count), 0) FROM group_past \(own.pastClause))
        """, arguments: own.arguments([:]))
    let parts = try Row.fetchAll(
      database,
      sql: """
        SELECT * FROM (SELECT DISTINCT build, name FROM group_reports \(own.clause))
        UNION SELECT build, name FROM group_past \(own.pastClause)
        """, arguments: own.arguments([:]))
    let names = Set(parts.map { $0["name"] as String }).sorted().prefix(nameLimit)
    let report = try String.fetchOne(
      database, sql: "SELECT id FROM group_reports \(own.clause) ORDER BY time DESC, id DESC LIMIT 1",
      arguments: own.arguments([:]))
    let firstBuild: String = oldest["build"]
    let isInNewest = try builds.isNewest(firstBuild, of: newest["executable"], uid, in: database)
    let state = try state(key, uid, last: last, isInNewest: isInNewest, in: database)
    return ReportGroup(
      key: key, uid: OwnerKey.uid(uid), title: newest["title"], count: count ?? 0, first: first, last: last,
      buildCount: Set(parts.map { $0["build"] as String }).count, firstBuild: firstBuild,
      lastBuild: newest["build"], names: Array(names), state: state, report: report ?? "")
  }

  private static func state(
    _ key: String, _ uid: Int64, last: String, isInNewest: Bool, in database: Database
  ) throws -> ReportGroup.State {
    let resolved = try String.fetchOne(
      database, sql: "SELECT resolved_time FROM group_states WHERE group_key = ? AND uid = ?", arguments: [key, uid])
    if let resolved { return last > resolved ? .regressed : .resolved }
    return isInNewest ? .new : .open
  }
}

/// What a query of `group_reports` is restricted to: only what is asked for stands in the SQL, so that the tables' order
/// serves it.
private struct Restriction {
  private var conditions: [String] = []
  /// The same for `group_past`, whose rows are hours: one that lies within the period in part counts.
  private var pastConditions: [String] = []
  private var values: [String: (any DatabaseValueConvertible)?] = [:]

  /// nil when no report can pass: keys are hexadecimal digits, in lower case.
  init?(_ filter: ReportFilter, _ visibility: Visibility) {
    if let uid = visibility.uid { add("uid = :uid", "uid", uid) }
    if let name = filter.name { add("instr(name, :name) > 0", "name", name) }
    if let executable = filter.executable { add("instr(executable, :executable) > 0", "executable", executable) }
    if let since = filter.since { add("time >= :since", "since", since, past: "last >= :since") }
    if let until = filter.until { add("time <= :until", "until", until, past: "first <= :until") }
    // Each row looks its report up: of those that a group's key has chosen, mostly.
    if let pid = filter.pid { add(Self.ofReport("pid"), "pid", pid, past: "FALSE") }
    if let unit = filter.unit { add(Self.ofReport("unit"), "unit", unit, past: "FALSE") }
    if let signal = filter.signal { add(Self.ofReport("signal"), "signal", signal, past: "FALSE") }
    guard let group = filter.group, !group.isEmpty else { return }
    guard ReportStore.isKeyPrefix(group) else { return nil }
    // The digits end with f: everything that begins with the prefix stands before the prefix and a g.
    add("group_key >= :group AND group_key < :group || 'g'", "group", group)
  }

  private static func ofReport(_ column: String) -> String {
    "EXISTS (SELECT 1 FROM reports WHERE reports.id = group_reports.id AND reports.\(column) = :\(column))"
  }

  var clause: String { conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ") }
  var pastClause: String { pastConditions.isEmpty ? "" : "WHERE " + pastConditions.joined(separator: " AND ") }

  func arguments(_ more: [String: any DatabaseValueConvertible]) -> StatementArguments {
    StatementArguments(values.merging(more.mapValues { $0 }) { $1 })
  }

  func narrowed(to key: String, _ uid: Int64) -> Restriction {
    var narrow = self
    narrow.add("group_key = :own_key AND uid = :own_uid", "own_key", key)
    narrow.values["own_uid"] = uid
    return narrow
  }

  private mutating func add(
    _ condition: String, _ name: String, _ value: any DatabaseValueConvertible, past: String? = nil
  ) {
    conditions.append(condition)
    pastConditions.append(past ?? condition)
    values[name] = value
  }
}

/// The builds of programs in the order in which they were first seen; each program is looked up once a call.
private struct NewestBuilds {
  private var known: [String: [String]] = [:]

  /// Whether it is the newest of several.
  mutating func isNewest(_ build: String, of executable: String, _ uid: Int64, in database: Database) throws -> Bool {
    let builds = try builds(of: executable, uid, in: database)
    return builds.count > 1 && builds.first == build
  }

  private mutating func builds(of executable: String, _ uid: Int64, in database: Database) throws -> [String] {
    let name = "\(uid) \(executable)"
    if let builds = known[name] { return builds }
    // From one build to the next in each table's order: a program has few, and many reports of each.
    let builds = try String.fetchAll(
      database,
      sql: """
        WITH RECURSIVE
          present (build) AS (
            SELECT min(build) FROM group_reports WHERE executable = :executable AND uid = :uid AND build > ''
            UNION ALL SELECT (SELECT min(build) FROM group_reports AS next
              WHERE next.executable = :executable AND next.uid = :uid AND next.build > present.build)
            FROM present WHERE build IS NOT NULL),
          past (build) AS (
            SELECT min(build) FROM group_past WHERE executable = :executable AND uid = :uid AND build > ''
            UNION ALL SELECT (SELECT min(build) FROM group_past AS next
              WHERE next.executable = :executable AND next.uid = :uid AND next.build > past.build)
            FROM past WHERE build IS NOT NULL)
        SELECT build FROM (
          SELECT build, (SELECT min(time) FROM group_reports AS own
            WHERE own.executable = :executable AND own.uid = :uid AND own.build = present.build) AS first
          FROM present WHERE build IS NOT NULL
          UNION ALL
          SELECT build, (SELECT min(first) FROM group_past AS own
            WHERE own.executable = :executable AND own.uid = :uid AND own.build = past.build) AS first
          FROM past WHERE build IS NOT NULL)
        GROUP BY build ORDER BY min(first) DESC LIMIT 2
        """, arguments: ["executable": executable, "uid": uid])
    known[name] = builds
    return builds
  }
}
