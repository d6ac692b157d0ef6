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
  /// The highest number of a histogram bucket for the times until a program ran again after a crash.
  public static let healthLastBucket = 120

  /// Adds counts, and stores the marks of the counted processes, in one transaction.
  ///
  /// With one transaction, a crashd that is killed neither counts anything twice nor loses counts that it stored.
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

  static let healthColumns = "time_ms, shared_ms, begun, finished, failed, lost, crashes"

  private static let marks = ":time_ms, :shared_ms, :begun, :finished, :failed, :lost, :crashes"

  private static let adds = healthColumns.split(separator: ", ").map {
    "\($0) = min(\($0) + excluded.\($0), \(HealthCounts.most))"
  }.joined(separator: ", ")

  /// The SQL conflict rule of each health table, for copying its rows from a damaged database: if the new store already
  /// has the row, the counts are added.
  static let addsHealth = [
    "health_builds": " ON CONFLICT DO UPDATE SET first = min(first, excluded.first), \(adds)",
    "health_hours": " ON CONFLICT DO UPDATE SET \(adds)",
    "health_returns": " ON CONFLICT DO UPDATE SET \(addsReturns)",
  ]

  private static let addsReturns = "count = min(count + excluded.count, \(HealthCounts.most))"

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
        INSERT INTO health_builds (uid, program, build, release, environment, first, last, \(healthColumns))
        VALUES (:uid, :program, :build, :release, :environment, :first, :last, \(marks))
        ON CONFLICT DO UPDATE SET release = ifnull(excluded.release, release),
          environment = ifnull(excluded.environment, environment), last = max(last, excluded.last), \(adds)
        """
    ).execute(arguments: StatementArguments(key.merging(texts) { $1 }.merging(arguments(sum)) { $1 }))
    for (hour, counts) in change.hours {
      try database.cachedStatement(
        sql: """
          INSERT INTO health_hours (uid, program, build, hour, \(healthColumns))
          VALUES (:uid, :program, :build, :hour, \(marks))
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
            ON CONFLICT DO UPDATE SET \(addsReturns)
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
        mark.last_s = Int(clamping: min(number("last_s"), 1 << 33))
        mark.hasEnded = number("ended") != 0
        return mark
      }
    }
  }

  /// Removes counts that are older than `healthHours`, and the oldest counts and marks beyond the maximum numbers.
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
