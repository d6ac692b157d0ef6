public import CrashProtocol
import GRDB

/// A group that matches the filter of a query.
///
/// `count` is the number of crashes; nil if the filter cannot be evaluated with the stored sums.
private struct FoundGroup: Decodable, FetchableRecord {
  var key: String
  var uid: Int64
  var count: Int?
}

/// The first or the last crash of a group.
private struct GroupEdge: Decodable, FetchableRecord {
  var build, title, executable, first, last: String
  var release: String?
}

/// A program whose crashes belong to a group.
private struct GroupPart: Decodable, FetchableRecord {
  var build, name: String
}

extension ReportStore {
  private static let nameLimit = 8

  /// Returns the groups of the reports that match the filter.
  ///
  /// The numbers include removed reports. However, of a removed report, the store does not keep the process, the unit,
  /// the signal and the annotations. If the filter contains one of these fields, only reports that still exist are
  /// counted.
  /// - Parameters:
  ///   - filter: The conditions that the reports must satisfy.
  ///   - visibility: The users whose reports the caller is allowed to read.
  ///   - order: The value by which the groups are sorted, greatest value first.
  ///   - states: The states of the groups to return; nil means all states.
  ///   - offset: The number of groups to skip.
  ///   - limit: The maximum number of groups.
  /// - Returns: The groups.
  /// - Throws: `StoreError.unavailable`.
  public func groups(
    _ filter: ReportFilter = ReportFilter(), visibility: Visibility = .all, order: GroupQuery.Order = .last,
    states: Set<GroupQuery.State>? = nil, offset: Int = 0, limit: Int
  ) throws(StoreError) -> [ReportGroup] {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        let wanted = GroupRestriction(filter, visibility)
        guard let wanted else { return [] }
        if order != .last || states != nil {
          return try Self.groups(wanted, GroupSelection(order: order, states: states), offset, limit, in: database)
        }
        // The method uses stored sums if the filter can be evaluated with these sums, and otherwise reads all rows.
        // Rows of existing reports and rows of removed reports are in two tables. Each table has an index in the
        // requested order, so its most recent groups are found quickly. These groups are sufficient: each of the most
        // recent groups overall is among them in at least one of the two tables.
        let sql =
          wanted.isOfWholeGroups
          ? """
          SELECT group_key AS key, uid, last, count FROM group_totals \(wanted.totalsClause)
          ORDER BY last DESC, group_key, uid LIMIT :limit OFFSET :offset
          """
          : """
          SELECT group_key AS key, uid, max(last) AS last FROM (
            SELECT * FROM (SELECT group_key, uid, max(time) AS last FROM group_reports \(wanted.clause)
              GROUP BY group_key, uid ORDER BY last DESC, group_key, uid LIMIT :limit + :offset)
            UNION ALL
            SELECT * FROM (SELECT group_key, uid, max(last) AS last FROM group_past \(wanted.pastClause)
              GROUP BY group_key, uid ORDER BY last DESC, group_key, uid LIMIT :limit + :offset))
          GROUP BY group_key, uid ORDER BY last DESC, key, uid LIMIT :limit OFFSET :offset
          """
        let found = try FoundGroup.fetchAll(
          database, sql: sql, arguments: wanted.arguments(["limit": limit, "offset": offset]))
        var builds = NewestBuilds()
        return try found.compactMap { try Self.group($0, wanted, &builds, in: database) }
      }
    }
  }

  /// Returns groups in an order or with states that the stored sums cannot provide.
  ///
  /// The method reads a group only if the group can be in the result.
  private static func groups(
    _ wanted: GroupRestriction, _ selection: GroupSelection, _ offset: Int, _ limit: Int, in database: Database
  ) throws -> [ReportGroup] {
    let rows = try FoundGroup.fetchCursor(database, sql: selection.sql(wanted), arguments: wanted.arguments([:]))
    var builds = NewestBuilds()
    var (skipped, groups): (Int, [ReportGroup]) = (0, [])
    while groups.count < limit, let found = try rows.next() {
      // Skip the groups on earlier pages without reading them. This is not possible if the state of a group depends on
      // builds.
      if !selection.needsBuilds, skipped < offset {
        skipped += 1
        continue
      }
      guard let group = try Self.group(found, wanted, &builds, in: database), selection.includes(group.state) else {
        continue
      }
      if skipped < offset { skipped += 1 } else { groups.append(group) }
    }
    return groups
  }

  /// Returns a group together with its crashes by build and by day.
  /// - Throws: `StoreError.noSuchGroup` if no key or several keys begin with `prefix`; `unavailable`.
  public func groupDetail(_ prefix: String, visibility: Visibility = .all) throws(StoreError) -> GroupDetail {
    let pool = try pool
    return try Self.translating(path) {
      guard !prefix.isEmpty, let wanted = GroupRestriction(ReportFilter(group: prefix), visibility) else {
        throw StoreError.noSuchGroup(key: prefix)
      }
      return try pool.read { database in
        let found = try FoundGroup.fetchAll(
          database, sql: GroupSelection().sql(wanted) + " LIMIT 1000", arguments: wanted.arguments([:]))
        guard Set(found.map(\.key)).count == 1 else { throw StoreError.noSuchGroup(key: prefix) }
        var builds = NewestBuilds()
        let groups = try found.compactMap { try Self.group($0, wanted, &builds, in: database) }
        return GroupDetail(
          groups: groups, builds: try Self.builds(wanted, in: database), days: try Self.days(wanted, in: database))
      }
    }
  }

  private static let detailLimit = 100

  private static func builds(_ wanted: GroupRestriction, in database: Database) throws -> [GroupDetail.Build] {
    try TypedRow<GroupDetail.Build>.fetchAll(
      database,
      sql: """
        SELECT build, sum(count) AS count, min(first) AS first, max(last) AS last FROM (
          SELECT build, count(*) AS count, min(time) AS first, max(time) AS last FROM group_reports \(wanted.clause)
            GROUP BY build
          UNION ALL
          SELECT build, sum(count), min(first), max(last) FROM group_past \(wanted.pastClause) GROUP BY build)
        GROUP BY build ORDER BY last DESC, build LIMIT :limit
        """, arguments: wanted.arguments(["limit": detailLimit])
    ).map(\.fields)
  }

  private static func days(_ wanted: GroupRestriction, in database: Database) throws -> [GroupDetail.Day] {
    try TypedRow<GroupDetail.Day>.fetchAll(
      database,
      sql: """
        SELECT date, sum(count) AS count FROM (
          SELECT substr(time, 1, 10) AS date, count(*) AS count FROM group_reports \(wanted.clause) GROUP BY 1
          UNION ALL
          SELECT substr(hour, 1, 10), sum(count) FROM group_past \(wanted.pastClause) GROUP BY 1)
        GROUP BY date ORDER BY date DESC LIMIT :limit
        """, arguments: wanted.arguments(["limit": detailLimit])
    ).map(\.fields)
  }

  /// Marks a group as resolved, or reopens it, for the reports that the caller is allowed to read.
  /// - Returns: The complete key of the group.
  /// - Throws: `StoreError.noSuchGroup` if no key or several keys begin with `prefix`; `unavailable`.
  public func setResolved(
    _ isResolved: Bool, group prefix: String, at time: String, visibility: Visibility = .all
  ) throws(StoreError) -> String {
    let pool = try pool
    return try Self.translating(path) {
      guard !prefix.isEmpty, let wanted = GroupRestriction(ReportFilter(group: prefix), visibility) else {
        throw StoreError.noSuchGroup(key: prefix)
      }
      // Look up the key before the write transaction, so that crashes can be stored during the look-up.
      let found = try pool.read { database in
        try FoundGroup.fetchAll(
          database,
          sql: """
            SELECT group_key AS key, uid FROM group_reports \(wanted.clause)
            UNION SELECT group_key, uid FROM group_past \(wanted.pastClause) LIMIT 1000
            """, arguments: wanted.arguments([:]))
      }
      let keys = Set(found.map(\.key))
      guard let key = keys.first, keys.count == 1 else { throw StoreError.noSuchGroup(key: prefix) }
      try write { database in
        for uid in found.map(\.uid) {
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

  /// Returns the group with a key; nil if the store has no rows of the group.
  ///
  /// If the key was found in the same transaction, the group always has rows.
  private static func group(
    _ found: FoundGroup, _ wanted: GroupRestriction, _ builds: inout NewestBuilds, in database: Database
  ) throws -> ReportGroup? {
    let (key, uid) = (found.key, found.uid)
    let own = wanted.narrowed(to: key, uid)
    // The first and the last crash of a group are at the ends of an index, so each query reads only one row.
    let edge = { (order: String, of: (reports: String, past: String)) in
      try GroupEdge.fetchOne(
        database,
        sql: """
          SELECT build, title, executable, first, last, (\(ReportRow.tag("release", of: "ends.seq"))) AS release FROM (
            SELECT * FROM (SELECT build, title, executable, time AS first, time AS last, id, seq FROM group_reports
              \(own.clause) ORDER BY \(of.reports), id LIMIT 1)
            UNION ALL
            SELECT * FROM (SELECT build, title, executable, first, last, '' AS id, NULL AS seq FROM group_past
              \(own.pastClause) ORDER BY \(of.past) LIMIT 1)) AS ends
          ORDER BY \(order), id LIMIT 1
          """, arguments: own.arguments([:]))
    }
    guard let oldest = try edge("first", ("time", "hour, first")),
      let newest = try edge("last DESC", ("time DESC", "hour DESC, last DESC"))
    else { return nil }
    let (count, parts) = try sums(found, wanted, own, in: database)
    let names = Set(parts.map(\.name)).sorted().prefix(nameLimit)
    let report = try String.fetchOne(
      database, sql: "SELECT id FROM group_reports \(own.clause) ORDER BY time DESC, id DESC LIMIT 1",
      arguments: own.arguments([:]))
    let isInNewest = try builds.isNewest(oldest.build, of: newest.executable, uid, in: database)
    let state = try state(key, uid, last: newest.last, isInNewest: isInNewest, in: database)
    return ReportGroup(
      key: key, uid: OwnerKey.uid(uid), title: newest.title, count: count, first: oldest.first, last: newest.last,
      builds: Set(parts.map(\.build)).count, firstBuild: oldest.build, lastBuild: newest.build,
      names: Array(names), state: state.rawValue, report: report ?? "", firstRelease: oldest.release,
      lastRelease: newest.release, sentence: try sentence(of: report, in: database))
  }

  private static func sentence(of report: String?, in database: Database) throws -> String? {
    guard let report else { return nil }
    return try String.fetchOne(
      database.cachedStatement(sql: "SELECT CAST(sentence AS TEXT) FROM reports WHERE id = ?"), arguments: [report])
  }

  /// Returns the number of crashes in a group, and the builds and names of the crashed programs.
  private static func sums(
    _ found: FoundGroup, _ wanted: GroupRestriction, _ own: GroupRestriction, in database: Database
  ) throws -> (count: Int, parts: [GroupPart]) {
    if wanted.hasWholeGroups, let count = found.count {
      let parts = try GroupPart.fetchAll(
        database, sql: "SELECT build, name FROM group_parts WHERE group_key = ? AND uid = ?",
        arguments: [found.key, found.uid])
      return (count, parts)
    }
    // Read the group's rows twice: counting by build and by name in one pass would require sorting the rows.
    let count = try Int.fetchOne(
      database,
      sql: """
        SELECT (SELECT count(*) FROM group_reports \(own.clause))
          + (SELECT ifnull(sum(count), 0) FROM group_past \(own.pastClause))
        """, arguments: own.arguments([:]))
    let parts = try GroupPart.fetchAll(
      database,
      sql: """
        SELECT * FROM (SELECT DISTINCT build, name FROM group_reports \(own.clause))
        UNION SELECT build, name FROM group_past \(own.pastClause)
        """, arguments: own.arguments([:]))
    return (count ?? 0, parts)
  }

  /// Returns the number of resolved groups, and the number of resolved groups that have crashed again.
  /// - Throws: `StoreError.unavailable`.
  public func resolvedGroups(
    visibility: Visibility = .all
  ) throws(StoreError) -> (resolved: Int, regressed: Int) {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        let row = try Row.fetchOne(
          database,
          sql: """
            SELECT count(*) AS decided, coalesce(sum(last > resolved_time), 0) AS regressed
            FROM group_states s JOIN group_totals t ON t.group_key = s.group_key AND t.uid = s.uid
            WHERE :uid IS NULL OR s.uid = :uid
            """, arguments: ["uid": visibility.uid])
        let (decided, regressed): (Int, Int) = (row?["decided"] ?? 0, row?["regressed"] ?? 0)
        return (decided - regressed, regressed)
      }
    }
  }

  private static func state(
    _ key: String, _ uid: Int64, last: String, isInNewest: Bool, in database: Database
  ) throws -> GroupQuery.State {
    let resolved = try String.fetchOne(
      database, sql: "SELECT resolved_time FROM group_states WHERE group_key = ? AND uid = ?", arguments: [key, uid])
    if let resolved { return last > resolved ? .regressed : .resolved }
    return isInNewest ? .new : .open
  }
}
