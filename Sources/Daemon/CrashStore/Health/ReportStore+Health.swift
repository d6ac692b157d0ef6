import GRDB

// Stores release health: the counts of each build, and the mark of each process (the part of its counters that the
// counts include).
extension ReportStore {
  /// The number of hours for which the store keeps the hourly counts.
  public static let healthHours = 90 * 24
  /// The maximum number of builds; the builds that were not seen for the longest time are removed first.
  public static let healthBuildLimit = 4_096
  /// The maximum number of rows with hourly counts.
  public static let healthRowLimit = 200_000
  /// The maximum number of stored marks of processes.
  public static let healthProcessLimit = 16_384

  /// Adds counts, and stores the marks of the counted processes, in one transaction.
  ///
  /// Therefore, if crashd is killed, it neither counts anything twice nor loses counts that an earlier call stored.
  /// - Throws: `StoreError.unavailable`.
  public func add(health changes: [HealthChange], marks: [HealthMark]) throws(StoreError) {
    try Self.translating(path) {
      try write { database in
        for change in changes { try Self.add(change, to: database) }
        let statement = try database.cachedStatement(
          sql: """
            INSERT OR REPLACE INTO health_processes
              (uid, ring, boot, counted_ns, begun, finished, failed, last_s, ended) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        for mark in marks {
          try statement.execute(arguments: [
            mark.owner, mark.ring, mark.boot, Int64(clamping: mark.counted_ns), Int64(clamping: mark.begun),
            Int64(clamping: mark.finished), Int64(clamping: mark.failed), mark.last_s, mark.hasEnded,
          ])
        }
      }
    }
  }

  private static let columns = "time_ms, shared_ms, begun, finished, failed, lost, crashes"

  private static let marks = ":time_ms, :shared_ms, :begun, :finished, :failed, :lost, :crashes"

  private static let adds = columns.split(separator: ", ").map {
    "\($0) = min(\($0) + excluded.\($0), \(HealthCounts.most))"
  }.joined(separator: ", ")

  /// The conflict rule for a row that is copied from a damaged database and that the new store already has.
  static let addsHealth = [
    "health_builds": " ON CONFLICT DO UPDATE SET first = min(first, excluded.first), \(adds)",
    "health_hours": " ON CONFLICT DO UPDATE SET \(adds)",
    "health_returns": " ON CONFLICT DO UPDATE SET count = count + excluded.count",
  ]

  private static func add(_ change: HealthChange, to database: Database) throws {
    let key: [String: (any DatabaseValueConvertible)?] = [
      "uid": change.key.owner, "program": change.key.program, "build": change.key.build,
    ]
    let sum = change.hours.values.reduce(HealthCounts(), +)
    let texts: [String: (any DatabaseValueConvertible)?] = [
      "release": change.release, "environment": change.environment, "first": change.first, "last": change.last,
    ]
    try database.cachedStatement(
      sql: """
        INSERT INTO health_builds (uid, program, build, release, environment, first, last, \(columns))
        VALUES (:uid, :program, :build, :release, :environment, :first, :last, \(marks))
        ON CONFLICT DO UPDATE SET release = ifnull(excluded.release, release),
          environment = ifnull(excluded.environment, environment), last = max(last, excluded.last), \(adds)
        """
    ).execute(arguments: StatementArguments(key.merging(texts) { $1 }.merging(arguments(sum)) { $1 }))
    for (hour, counts) in change.hours {
      try database.cachedStatement(
        sql: """
          INSERT INTO health_hours (uid, program, build, hour, \(columns)) VALUES (:uid, :program, :build, :hour, \(marks))
          ON CONFLICT DO UPDATE SET \(adds)
          """
      ).execute(arguments: StatementArguments(key.merging(arguments(counts)) { $1 }.merging(["hour": hour]) { $1 }))
    }
    for (hour, buckets) in change.returns {
      for (bucket, count) in buckets {
        try database.cachedStatement(
          sql: """
            INSERT INTO health_returns (uid, program, build, hour, bucket, count)
            VALUES (:uid, :program, :build, :hour, :bucket, :count)
            ON CONFLICT DO UPDATE SET count = count + excluded.count
            """
        ).execute(
          arguments: StatementArguments(key.merging(["hour": hour, "bucket": bucket, "count": count]) { $1 }))
      }
    }
  }

  private static func arguments(_ counts: HealthCounts) -> [String: (any DatabaseValueConvertible)?] {
    [
      "time_ms": counts.time_ms, "shared_ms": counts.shared_ms, "begun": counts.begun, "finished": counts.finished,
      "failed": counts.failed, "lost": counts.lost, "crashes": counts.crashes,
    ]
  }

  /// Returns the mark of a process; nil if nothing is counted for the process.
  /// - Throws: `StoreError.unavailable`.
  public func healthMark(_ key: HealthKey, ring: String) throws(StoreError) -> HealthMark? {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        guard
          let row = try Row.fetchOne(
            database.cachedStatement(
              sql: """
                SELECT boot, counted_ns, begun, finished, failed, last_s, ended FROM health_processes
                WHERE uid = ? AND ring = ?
                """), arguments: [key.owner, ring])
        else { return nil }
        let number = { (column: String) in UInt64(clamping: Int64.fromDatabaseValue(row[column]) ?? 0) }
        var mark = HealthMark(
          key, ring: ring, boot: String.fromDatabaseValue(row["boot"]) ?? "", counted_ns: number("counted_ns"))
        (mark.begun, mark.finished, mark.failed) = (number("begun"), number("finished"), number("failed"))
        mark.last_s = Int(clamping: number("last_s"))
        mark.hasEnded = number("ended") != 0
        return mark
      }
    }
  }

  /// Removes counts and marks that are older than the limit or exceed the maximum numbers.
  /// - Throws: `StoreError.unavailable`.
  public func forgetHealth(hour: Int) throws(StoreError) {
    let fairShare = fairShare
    try Self.translating(path) {
      try write { database in
        for table in ["health_hours", "health_returns"] {
          try database.execute(sql: "DELETE FROM \(table) WHERE hour < ?", arguments: [hour - Self.healthHours])
        }
        try Self.evict(
          from: "health_hours", key: "(uid, program, build, hour)", order: "hour", limit: Self.healthRowLimit,
          fairShare, in: database)
        try Self.evict(
          from: "health_returns", key: "(uid, program, build, hour, bucket)", order: "hour",
          limit: Self.healthRowLimit, fairShare, in: database)
        try Self.evict(
          from: "health_builds", key: "(uid, program, build)", order: "last", limit: Self.healthBuildLimit, fairShare,
          in: database)
        try Self.evict(
          from: "health_processes", key: "(uid, ring)", order: "last_s", limit: Self.healthProcessLimit, fairShare,
          in: database)
      }
    }
  }
}

// Reads release health.
extension ReportStore {
  /// Returns the builds in the order in which they were first seen, with the counts since the given hour, or all
  /// counts.
  /// - Parameters:
  ///   - name: A part of the program's name; nil selects all programs.
  ///   - hour: The first hour of the period, in hours since 1970.
  ///   - visibility: The users whose builds the caller is allowed to read.
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
              CAST(total(count) AS INTEGER) AS count
            FROM health_returns WHERE \(condition) AND (:hour IS NULL OR hour >= :hour) GROUP BY 1, 2, 3, 4
            """, arguments: arguments
        ).reduce(into: [HealthKey: [Int: Int]]()) { returns, row in
          returns[Self.key(row), default: [:]][row["bucket"]] = row["count"]
        }
        let sums = Self.sums(of: hour == nil ? "b" : "h")
        let hours =
          hour == nil
          ? ""
          : "JOIN health_hours h ON h.uid = b.uid AND h.program = b.program AND h.build = b.build AND h.hour >= :hour"
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

  // The queries cast each value to the type of its column, because a damaged value of another type must not end crashd.

  private static func keyColumns(_ table: String) -> String {
    [("uid", "INTEGER"), ("program", "TEXT"), ("build", "TEXT")]
      .map { "CAST(\(table).\($0) AS \($1)) AS \($0)" }.joined(separator: ", ")
  }

  private static func sums(of table: String) -> String {
    columns.split(separator: ", ").map { "CAST(total(\(table).\($0)) AS INTEGER) AS \($0)" }.joined(separator: ", ")
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

  /// Returns the counts of a build by hour, oldest first.
  /// - Throws: `StoreError.unavailable`.
  public func healthHours(of key: HealthKey) throws(StoreError) -> [(hour: Int, counts: HealthCounts)] {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        try Row.fetchAll(
          database,
          sql: """
            SELECT CAST(hour AS INTEGER) AS hour, \(Self.sums(of: "health_hours")) FROM health_hours
            WHERE uid = ? AND program = ? AND build = ? GROUP BY 1 ORDER BY 1
            """, arguments: [key.owner, key.program, key.build]
        ).map { ($0["hour"], Self.counts($0)) }
      }
    }
  }
}
