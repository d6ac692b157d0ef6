import GRDB

/// Determines the newest build of each program, from the order in which its builds were first seen.
///
/// An instance of this type queries the store at most once for each program.
struct NewestBuilds {
  private var known: [String: [String]] = [:]

  /// Whether a build is the newest build of a program that has several builds.
  mutating func isNewest(_ build: String, of executable: String, _ uid: Int64, in database: Database) throws -> Bool {
    let builds = try builds(of: executable, uid, in: database)
    return builds.count > 1 && builds.first == build
  }

  private mutating func builds(of executable: String, _ uid: Int64, in database: Database) throws -> [String] {
    let name = "\(uid) \(executable)"
    if let builds = known[name] { return builds }
    // In the index of each table, the query jumps from the first row of one build to the first row of the next build.
    // This is fast, because a program has few builds, but many reports of each build.
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
