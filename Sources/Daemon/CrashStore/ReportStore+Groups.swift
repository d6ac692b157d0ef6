public import CrashProtocol
import GRDB

/// The state of a group, in the terms of the interface.
private enum GroupState: String {
  /// It was first seen in the newest build of its program, which has earlier ones.
  case new
  /// It occurs.
  case open
  /// Marked as resolved, and it has not occurred since.
  case resolved
  /// It occurred again after that.
  case regressed
}

/// A group that passes the filter, with its sum if the sum holds for the filter.
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

/// A program with crashes in a group.
private struct GroupPart: Decodable, FetchableRecord {
  var build, name: String
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
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        let wanted = GroupRestriction(filter, visibility)
        guard let wanted else { return [] }
        // With such a filter the sums serve, else all rows are read. Those with reports and those without are in two
        // tables, each in an order that serves it: a group that is among the last of both together is among the last of
        // one of them.
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

  /// Marks a group as resolved or reopens it, for the visible reports.
  /// - Returns: The whole key.
  /// - Throws: `StoreError.noSuchGroup`, also where several begin with `prefix`; `unavailable`.
  public func setResolved(
    _ isResolved: Bool, group prefix: String, at time: String, visibility: Visibility = .all
  ) throws(StoreError) -> String {
    let pool = try pool
    return try Self.translating(path) {
      guard !prefix.isEmpty, let wanted = GroupRestriction(ReportFilter(group: prefix), visibility) else {
        throw StoreError.noSuchGroup(key: prefix)
      }
      // Resolved outside of the writer, which stores crashes meanwhile.
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

  /// nil when nothing of the group is there; within one transaction that does not happen.
  private static func group(
    _ found: FoundGroup, _ wanted: GroupRestriction, _ builds: inout NewestBuilds, in database: Database
  ) throws -> ReportGroup? {
    let (key, uid) = (found.key, found.uid)
    let own = wanted.narrowed(to: key, uid)
    // Each end stands at an end of the tables' order.
    let edge = { (order: String, of: (reports: String, past: String)) in
      try GroupEdge.fetchOne(
        database,
        sql: """
          SELECT build, title, executable, first, last, (\(ReportRow.tag("release", of: "ends.id"))) AS release FROM (
            SELECT * FROM (SELECT build, title, executable, time AS first, time AS last, id FROM group_reports
              \(own.clause) ORDER BY \(of.reports), id LIMIT 1)
            UNION ALL
            SELECT * FROM (SELECT build, title, executable, first, last, '' AS id FROM group_past
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
      lastRelease: newest.release)
  }

  /// How many crashes there were, and the builds and names of their programs.
  private static func sums(
    _ found: FoundGroup, _ wanted: GroupRestriction, _ own: GroupRestriction, in database: Database
  ) throws -> (count: Int, parts: [GroupPart]) {
    if wanted.hasWholeGroups, let count = found.count {
      let parts = try GroupPart.fetchAll(
        database, sql: "SELECT build, name FROM group_parts WHERE group_key = ? AND uid = ?",
        arguments: [found.key, found.uid])
      return (count, parts)
    }
    // Two passes over the group's rows: one that counted each build and name would have to sort them.
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

  /// How many of the groups that an operator has resolved stay so, and how many have crashed again.
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
  ) throws -> GroupState {
    let resolved = try String.fetchOne(
      database, sql: "SELECT resolved_time FROM group_states WHERE group_key = ? AND uid = ?", arguments: [key, uid])
    if let resolved { return last > resolved ? .regressed : .resolved }
    return isInNewest ? .new : .open
  }
}
