import CrashReport
import GRDB

// Removes reports from the store. A group keeps the number of its removed reports, and a subscriber is informed of the
// number of removed events that it missed.
extension ReportStore {
  /// The maximum number of removed events that the store records individually.
  ///
  /// For earlier removed events, the store records only how many of them are in each block of 1,024 event numbers.
  static let removedLimit = 100_000
  static let tallyBlock: Int64 = 1_024
  /// The maximum number of reports that are removed in one transaction.
  ///
  /// The number is low, because crashd cannot store crashes during such a transaction.
  static let removalBatch = 64

  /// The number of removed events that a subscriber has missed.
  public struct Missed: Sendable, Equatable {
    /// The number of removed events.
    public var count: Int
    /// Whether `count` is exact.
    ///
    /// If `count` is not exact, up to 1,023 of the counted events can be before the subscriber's cursor.
    public var isExact: Bool
  }

  /// Returns the number of removed events after `cursor`, up to `end` inclusive.
  /// - Throws: `StoreError.unavailable`.
  public func removed(
    after cursor: StoreCursor, through end: StoreCursor? = nil, visibility: Visibility = .all
  ) throws(StoreError) -> Missed {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { try Self.missed(after: cursor.sequence, through: end?.sequence ?? Int64.max, visibility, in: $0) }
    }
  }

  static func missed(
    after start: Int64, through end: Int64, _ visibility: Visibility, in database: Database
  ) throws -> Missed {
    let exact = try Int.fetchOne(
      database, sql: "SELECT count(*) FROM removed WHERE seq > :start AND seq <= :end AND (:uid IS NULL OR uid = :uid)",
      arguments: ["start": start, "end": end, "uid": visibility.uid])
    let older = try Int.fetchOne(
      database,
      sql: """
        SELECT sum(count) FROM removed_tallies
        WHERE block >= :first AND block <= :last AND (:uid IS NULL OR uid = :uid)
        """,
      arguments: [
        // The number of the block that contains the first event number after the cursor.
        "first": (start &+ 1) / tallyBlock, "last": end / tallyBlock, "uid": visibility.uid,
      ])
    return Missed(count: (exact ?? 0) + (older ?? 0), isExact: (older ?? 0) == 0)
  }

  /// Removes one report.
  ///
  /// After the removal, the report's group no longer counts the report.
  /// - Parameters:
  ///   - prefix: The beginning of the report's ID.
  ///   - visibility: The users whose reports the caller is allowed to remove.
  /// - Returns: The id of the removed report.
  /// - Throws: `StoreError.noSuchReport`, `ambiguous`, `unavailable`.
  public func remove(idPrefix prefix: String, visibility: Visibility = .all) throws(StoreError) -> String {
    guard !prefix.isEmpty else { throw .noSuchReport(id: prefix) }
    let id = try report(idPrefix: prefix, visibility: visibility).id
    try Self.translating(path) {
      try write { try Self.remove([id], isCounted: false, in: $0) }
    }
    return id
  }

  /// Removes at most `removalBatch` reports of crashes that occurred before a time.
  ///
  /// The caller must repeat the call until it removes no report.
  /// - Returns: The number of removed reports.
  /// - Throws: `StoreError.unavailable`.
  public func remove(before time: String, visibility: Visibility = .all) throws(StoreError) -> Int {
    return try Self.translating(path) {
      try write { database in
        let ids = try String.fetchAll(
          database,
          sql: """
            SELECT id FROM reports WHERE time < :time AND (:uid IS NULL OR uid = :uid) ORDER BY time, seq LIMIT :limit
            """, arguments: ["time": time, "uid": visibility.uid, "limit": Self.removalBatch])
        try Self.remove(ids, isCounted: true, in: database)
        return ids.count
      }
    }
  }

  /// Returns the number of reports of crashes that occurred before a time.
  /// - Throws: `StoreError.unavailable`.
  public func count(before time: String, visibility: Visibility = .all) throws(StoreError) -> Int {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        try Int.fetchOne(
          database, sql: "SELECT count(*) FROM reports WHERE time < :time AND (:uid IS NULL OR uid = :uid)",
          arguments: ["time": time, "uid": visibility.uid]) ?? 0
      }
    }
  }

  /// Whether a report with the given ID was removed earlier.
  ///
  /// A report that was removed must not be stored again.
  static func isRemoved(_ id: String, _ uid: Int, in database: Database) throws -> Bool {
    try Bool.fetchOne(
      database.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM removed WHERE id = ? AND uid IN (?, ?))"),
      arguments: [id, OwnerKey.of(uid: uid, isRestricted: false), OwnerKey.of(uid: uid, isRestricted: true)]) ?? false
  }

  /// Removes reports and their raw records (the copies of the rings).
  ///
  /// If `isCounted` is true, the groups of the reports still count them.
  static func remove(_ ids: [String], isCounted: Bool, in database: Database) throws {
    for id in ids {
      if isCounted {
        try database.cachedStatement(
          sql: """
            INSERT INTO group_past (group_key, uid, hour, build, name, executable, title, count, first, last)
              SELECT group_key, uid, substr(time, 1, 13), build, name, executable, title, 1, time, time
              FROM group_reports WHERE id = ?
            ON CONFLICT DO UPDATE SET
              title = CASE WHEN excluded.last >= last THEN excluded.title ELSE title END,
              count = count + 1, first = min(first, excluded.first), last = max(last, excluded.last)
            """
        ).execute(arguments: [id])
      }
      try database.cachedStatement(
        sql: "INSERT OR REPLACE INTO removed (seq, id, uid) SELECT seq, id, uid FROM reports WHERE id = ?"
      ).execute(arguments: [id])
      try delete(id, in: database)
    }
  }

  /// Deletes the row of a report.
  ///
  /// SQLite takes longer to prepare this statement than to run it, because the table has triggers.
  static func delete(_ id: String, in database: Database) throws {
    try database.cachedStatement(sql: "DELETE FROM reports WHERE id = ?").execute(arguments: [id])
  }

  func foldRemoved(beyond limit: Int) throws(StoreError) {
    try Self.translating(path) { try write { try Self.foldRemoved(beyond: limit, in: $0) } }
  }

  /// Replaces the records of the earliest removed events by one count for each block of `tallyBlock` event numbers.
  static func foldRemoved(beyond limit: Int, in database: Database) throws {
    let last = try Int64.fetchOne(
      database, sql: "SELECT seq FROM removed ORDER BY seq DESC LIMIT 1 OFFSET ?", arguments: [limit])
    guard let last else { return }
    // Replace only complete blocks, so that each block is counted in only one of the two tables.
    let end = last / tallyBlock * tallyBlock
    try database.execute(
      sql: """
        INSERT INTO removed_tallies (block, uid, count)
          SELECT seq / \(tallyBlock), uid, count(*) FROM removed WHERE seq < ? GROUP BY 1, 2
          ON CONFLICT DO UPDATE SET count = count + excluded.count
        """, arguments: [end])
    try database.execute(sql: "DELETE FROM removed WHERE seq < ?", arguments: [end])
  }
}
