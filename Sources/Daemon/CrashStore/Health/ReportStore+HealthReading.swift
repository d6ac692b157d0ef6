import GRDB

// Reads release health.
extension ReportStore {
  /// Returns the builds, sorted by the time when they were first seen, with their counts since the given hour.
  /// - Parameters:
  ///   - name: A part of the program's name; nil selects all programs.
  ///   - hour: The first hour of the period, in hours since 1970; nil for all counts of each build.
  ///   - visibility: The users whose builds the caller may read.
  /// - Returns: The builds.
  /// - Throws: `StoreError.unavailable`.
  public func health(
    name: String? = nil, since hour: Int? = nil, visibility: Visibility = .all
  ) throws(StoreError) -> [StoredHealth] {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        let arguments: StatementArguments = ["uid": visibility.uid, "name": name, "hour": hour]
        let condition =
          "(:uid IS NULL OR uid = :uid) AND (:name IS NULL OR instr(lower(program), lower(:name)) > 0)"
        let returns = try Row.fetchAll(
          database,
          sql: """
            SELECT \(Self.keyColumns("health_returns")), CAST(bucket AS INTEGER) AS bucket,
              \(Self.sum(of: "count")) AS count
            FROM health_returns
            WHERE \(condition) AND (:hour IS NULL OR hour >= :hour) AND bucket BETWEEN 0 AND \(Self.healthLastBucket)
            GROUP BY 1, 2, 3, 4
            """, arguments: arguments
        ).reduce(into: [HealthKey: [Int: Int]]()) { returns, row in
          returns[Self.key(row), default: [:]][row["bucket"]] = row["count"]
        }
        let sums = Self.sums(of: hour == nil ? "b" : "h")
        let hours =
          hour == nil
          ? ""
          : "JOIN health_hours h ON h.uid = b.uid AND h.program = b.program AND h.build = b.build "
            + "AND h.hour >= :hour AND h.hour \(Self.hours)"
        return try Row.fetchAll(
          database,
          sql: """
            SELECT \(Self.keyColumns("b")), CAST(release AS TEXT) AS release,
              CAST(environment AS TEXT) AS environment, CAST(first AS TEXT) AS first, CAST(last AS TEXT) AS last,
              \(sums)
            FROM (SELECT * FROM health_builds WHERE \(condition)) b \(hours)
            GROUP BY 1, 2, 3 ORDER BY first, 1, 2, 3
            """, arguments: arguments
        ).map { row in
          let key = Self.key(row)
          return StoredHealth(
            key: key, release: row["release"], environment: row["environment"], first: row["first"], last: row["last"],
            counts: Self.counts(row), returns: returns[key] ?? [:])
        }
      }
    }
  }

  // A damaged store can have any value in any column. Such a value must not end crashd. Therefore, the queries cast
  // each value to the type of its column, skip impossible hours, and limit each count.

  /// The range of valid hours.
  ///
  /// No sum or difference of two such hours overflows.
  private static let hours = "BETWEEN 0 AND \(1 << 32)"

  /// The sum of a column, from 0 to `HealthCounts.most`.
  ///
  /// The code replaces NULL, which is SQLite's sum of a positive and a negative infinity.
  private static func sum(of column: String) -> String {
    "CAST(ifnull(min(max(total(\(column)), 0), \(HealthCounts.most)), 0) AS INTEGER)"
  }

  private static func keyColumns(_ table: String) -> String {
    [("uid", "INTEGER"), ("program", "TEXT"), ("build", "TEXT")]
      .map { "CAST(\(table).\($0) AS \($1)) AS \($0)" }.joined(separator: ", ")
  }

  private static func sums(of table: String) -> String {
    healthColumns.split(separator: ", ").map { "\(sum(of: "\(table).\($0)")) AS \($0)" }.joined(separator: ", ")
  }

  private static func key(_ row: Row) -> HealthKey {
    HealthKey(owner: row["uid"], program: row["program"], build: row["build"])
  }

  private static func counts(_ row: Row) -> HealthCounts {
    var counts = HealthCounts()
    (counts.time_ms, counts.shared_ms, counts.crashes) = (row["time_ms"], row["shared_ms"], row["crashes"])
    (counts.begun, counts.finished) = (row["begun"], row["finished"])
    (counts.failed, counts.lost) = (row["failed"], row["lost"])
    return counts
  }

  /// Selects at most `limit` builds: the first ones of each user, so that the builds of one user cannot displace those
  /// of others.
  public func fairShare(_ limit: Int, of builds: [StoredHealth]) -> [StoredHealth] {
    fairShare.first(limit, of: builds) { $0.key.owner }
  }

  /// Returns the counts of a build by hour, oldest first.
  ///
  /// If a damaged store has more hours than a store keeps, only the newest ones are returned.
  /// - Throws: `StoreError.unavailable`.
  public func healthHours(of key: HealthKey) throws(StoreError) -> [(hour: Int, counts: HealthCounts)] {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        try Row.fetchAll(
          database,
          sql: """
            SELECT CAST(hour AS INTEGER) AS hour, \(Self.sums(of: "health_hours")) FROM health_hours
            WHERE uid = ? AND program = ? AND build = ? AND hour \(Self.hours) GROUP BY 1 ORDER BY 1 DESC LIMIT ?
            """, arguments: [key.owner, key.program, key.build, 2 * Self.healthHours]
        ).reversed().map { ($0["hour"], Self.counts($0)) }
      }
    }
  }
}
