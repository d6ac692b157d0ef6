import GRDB

/// Reports of one kind: what a list of groups shows.
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
  /// For people.
  public var title: String
  /// How many reports there are.
  public var count: Int
  /// When it was first seen, RFC 3339 in UTC.
  public var first: String
  /// When it was last seen.
  public var last: String
  /// How many builds have it.
  public var buildCount: Int
  /// The build in which it was first seen.
  public var firstBuild: String
  /// The build in which it was last seen.
  public var lastBuild: String
  /// The names of the programs, at most eight.
  public var names: [String]
  /// What the operator knows of it.
  public var state: State
  /// The newest report.
  public var report: String
}

extension ReportStore {
  private static let nameLimit = 8

  /// Groups, the one that was seen last first.
  /// - Throws: `StoreError.unavailable`.
  public func groups(
    _ filter: ReportFilter = ReportFilter(), visibility: Visibility = .all, limit: Int
  ) throws(StoreError) -> [ReportGroup] {
    let pool = pool
    return try Self.translating(path) {
      try pool.read { database in
        let rows = try Row.fetchAll(
          database,
          sql: """
            SELECT group_key AS key, count(*) AS count, min(time) AS first, max(time) AS last,
              count(DISTINCT build) AS builds
            FROM reports
            WHERE (:uid IS NULL OR uid = :uid)
              AND (:pid IS NULL OR pid = :pid) AND (:name IS NULL OR instr(name, :name) > 0)
              AND (:group IS NULL OR substr(group_key, 1, length(:group)) = :group)
              AND (:since IS NULL OR time >= :since) AND (:until IS NULL OR time <= :until)
            GROUP BY group_key ORDER BY last DESC, key LIMIT :limit
            """,
          arguments: [
            "uid": visibility.uid, "pid": filter.pid, "name": filter.name, "group": filter.group, "since": filter.since,
            "until": filter.until, "limit": limit,
          ])
        return try rows.compactMap { try Self.group($0, visibility, in: database) }
      }
    }
  }

  /// Says that a group is mended, or that it is not.
  ///
  /// Of a group that others have too, it is said of the reports that may be seen only.
  /// - Returns: The whole key.
  /// - Throws: `StoreError.noSuchGroup`, also where several begin with `prefix`; `unavailable`.
  public func setResolved(
    _ isResolved: Bool, group prefix: String, at time: String, visibility: Visibility = .all
  ) throws(StoreError) -> String {
    let pool = pool
    return try Self.translating(path) {
      try pool.write { database in
        let found = try Row.fetchAll(
          database,
          sql: """
            SELECT DISTINCT group_key, uid FROM reports
            WHERE (:uid IS NULL OR uid = :uid) AND substr(group_key, 1, length(:group)) = :group LIMIT 1000
            """, arguments: ["uid": visibility.uid, "group": prefix])
        let keys = Set(found.map { $0["group_key"] as String })
        guard let key = keys.first, keys.count == 1, !prefix.isEmpty else { throw StoreError.noSuchGroup(key: prefix) }
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
        return key
      }
    }
  }

  /// nil when the group's reports were removed meanwhile; within one transaction that does not happen.
  private static func group(_ row: Row, _ visibility: Visibility, in database: Database) throws -> ReportGroup? {
    let key: String = row["key"]
    let wanted: StatementArguments = ["key": key, "uid": visibility.uid]
    let which = "FROM reports WHERE group_key = :key AND (:uid IS NULL OR uid = :uid)"
    let oldest = try Row.fetchOne(
      database, sql: "SELECT build \(which) ORDER BY time, seq LIMIT 1", arguments: wanted)
    let newest = try Row.fetchOne(
      database, sql: "SELECT build, id, group_title, executable, time \(which) ORDER BY time DESC, seq DESC LIMIT 1",
      arguments: wanted)
    guard let oldest, let newest else { return nil }
    let names = try String.fetchAll(
      database, sql: "SELECT DISTINCT name \(which) ORDER BY name LIMIT \(nameLimit)", arguments: wanted)
    let firstBuild: String = oldest["build"]
    return ReportGroup(
      key: key, title: newest["group_title"], count: row["count"], first: row["first"], last: row["last"],
      buildCount: row["builds"], firstBuild: firstBuild, lastBuild: newest["build"], names: names,
      state: try state(
        key, firstBuild: firstBuild, executable: newest["executable"], last: newest["time"], visibility, in: database),
      report: newest["id"])
  }

  private static func state(
    _ key: String, firstBuild: String, executable: String, last: String, _ visibility: Visibility,
    in database: Database
  ) throws -> ReportGroup.State {
    let resolved = try String.fetchOne(
      database,
      sql: "SELECT max(resolved_time) FROM group_states WHERE group_key = :key AND (:uid IS NULL OR uid = :uid)",
      arguments: ["key": key, "uid": visibility.uid])
    if let resolved { return last > resolved ? .regressed : .resolved }
    // Of a program, the builds in the order in which they were first seen.
    let builds = try String.fetchAll(
      database,
      sql: """
        SELECT build FROM reports WHERE executable = :executable AND (:uid IS NULL OR uid = :uid)
        GROUP BY build ORDER BY min(time) DESC LIMIT 2
        """, arguments: ["executable": executable, "uid": visibility.uid])
    return builds.count > 1 && builds.first == firstBuild ? .new : .open
  }
}
