import CrashReport
import GRDB
import Synchronization

// Applies the retention policy.
extension ReportStore {
  /// The maximum number of hourly counts.
  ///
  /// If there are more hourly counts, the oldest counts of the user with the most counts are removed.
  public static let historyLimit = 100_000
  /// The factor by which a group may exceed the maximum number of reports while subscribers have not read all of its
  /// reports.
  private static let readersPatience = 10
  private static let readersHour_s = 3_600
  /// The maximum number of free pages that one transaction returns to the file system.
  private static let vacuumPages = 512

  /// The result of one step of retention.
  public enum RetentionStep: Sendable, Equatable {
    /// Reports were removed.
    case removed(Int, RetentionReason)
    /// Free pages were returned to the file system.
    case gaveBack(pages: Int)
  }

  /// Performs one small step of retention (the removal of reports by the policy) in one transaction.
  ///
  /// The caller must repeat the call until the result is nil.
  /// - Parameters:
  ///   - policy: The retention policy.
  ///   - now_ns: The current time, in nanoseconds since 1970.
  ///   - keepsOld: Whether reports stay in the store regardless of their age, because the clock is not trusted.
  ///   - freeBytes: The free space of the file system in bytes; nil if it is unknown.
  ///   - readers: The cursor of the connected subscriber that has read the fewest events; nil if no subscriber is
  ///     connected. A report is not removed from its group until this subscriber, and each named subscriber that was
  ///     active in the last hour, have read it. In a group with more than ten times the permitted number of reports,
  ///     unread reports are removed, too.
  /// - Returns: The result of the step; nil if there is nothing to do.
  /// - Throws: `StoreError.unavailable`, `corrupt`.
  public func retain(
    _ policy: RetentionPolicy, now_ns: UInt64, keepsOld: Bool = false, freeBytes: Int? = nil,
    readers: StoreCursor? = nil
  ) throws(StoreError) -> RetentionStep? {
    if let step = try thinGroup(policy, readers, now_ns) { return step }
    if !keepsOld {
      let count = try remove(before: Self.time(now_ns, minus: policy.age_s))
      if count > 0 { return .removed(count, .age) }
    }
    return try shrink(policy, freeBytes: freeBytes)
  }

  /// Ends a retention pass: removes hourly counts that are too old.
  ///
  /// The groups that this pass skipped are checked again in the next pass.
  /// - Throws: `StoreError.unavailable`, `corrupt`.
  public func forgetHistory(_ policy: RetentionPolicy, now_ns: UInt64) throws(StoreError) {
    grown.withLock { grown in
      grown.names?.formUnion(grown.spared)
      grown.spared = []
    }
    let (pool, fairShare, limit) = (try pool, fairShare, Self.time(now_ns, minus: policy.history_s))
    try Self.translating(path) {
      let isNeeded = try pool.read { database in
        let old = try Bool.fetchOne(
          database, sql: "SELECT EXISTS (SELECT 1 FROM group_past WHERE last < ?)", arguments: [limit])
        let tooMany = try Bool.fetchOne(
          database,
          sql: """
            SELECT EXISTS (SELECT 1 FROM group_past ORDER BY last LIMIT 1 OFFSET \(Self.historyLimit))
              OR EXISTS (SELECT 1 FROM removed ORDER BY seq LIMIT 1 OFFSET \(Self.removedLimit))
            """)
        return old == true || tooMany == true
      }
      guard isNeeded else { return }
      try write { database in
        try database.execute(sql: "DELETE FROM group_past WHERE last < ?", arguments: [limit])
        try Self.evict(
          from: "group_past", key: "(group_key, uid, hour, build, name, executable)", order: "last",
          limit: Self.historyLimit, fairShare, in: database)
        try Self.foldRemoved(beyond: Self.removedLimit, in: database)
      }
    }
  }

  /// Reads and checks the whole database.
  /// - Returns: A description of the damage; nil if the database is not damaged.
  /// - Throws: `StoreError.unavailable`, `corrupt`.
  public func check() throws(StoreError) -> String? {
    let pool = try pool
    return try Self.translating(path) {
      let answer = try pool.read { try String.fetchOne($0, sql: "PRAGMA quick_check(1)") }
      return answer == "ok" ? nil : answer ?? "no answer"
    }
  }

  func noteGrown(_ key: String, _ uid: Int64) {
    grown.withLock { grown in
      guard grown.names != nil else { return }
      grown.names?.insert(GrownGroups.Name(key: key, uid: uid))
      if grown.names?.count ?? 0 > GrownGroups.limit { grown.names = nil }
    }
  }

  private static func time(_ now_ns: UInt64, minus seconds: Int) -> String {
    let (age, isTooLong) = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return Timestamp.string(since1970_ns: isTooLong || age > now_ns ? 0 : now_ns - age)
  }
}

// Removes reports of groups that have too many reports.
extension ReportStore {
  private func thinGroup(
    _ policy: RetentionPolicy, _ readers: StoreCursor?, _ now_ns: UInt64
  ) throws(StoreError) -> RetentionStep? {
    let (pool, limit) = (try pool, max(1, policy.reportsPerGroup))
    return try Self.translating(path) {
      while let name = try nextGrown(limit, pool) {
        // Remove the group's name from the set before the group is checked. If the group grows during the check,
        // another thread adds the name to the set again.
        grown.withLock { grown in _ = grown.names?.remove(name) }
        let (ids, surplus) = try write { database in
          let (ids, surplus) = try Self.surplus(of: name, limit: limit, readers: readers, now_ns, in: database)
          try Self.remove(ids, isCounted: true, in: database)
          return (ids, surplus)
        }
        grown.withLock { grown in
          if ids.count == Self.removalBatch { grown.names?.insert(name) }
          // Skip the group in this pass, because subscribers have not read enough of its reports.
          if ids.count < min(surplus, Self.removalBatch) { grown.spared.insert(name) }
        }
        if !ids.isEmpty { return .removed(ids.count, .group) }
      }
      return nil
    }
  }

  private func nextGrown(_ limit: Int, _ pool: DatabasePool) throws -> GrownGroups.Name? {
    if let names = grown.withLock({ $0.names }) { return names.first }
    // Create the set before the search, so that the names of groups that grow during the search can be added to it.
    grown.withLock { $0.names = [] }
    let rows = try pool.read { database in
      try Row.fetchAll(
        database, sql: "SELECT group_key, uid FROM group_reports GROUP BY group_key, uid HAVING count(*) > ? LIMIT ?",
        arguments: [limit, GrownGroups.limit])
    }
    let found = rows.map { GrownGroups.Name(key: $0["group_key"], uid: $0["uid"]) }
    return grown.withLock { grown in
      grown.names?.formUnion(found)
      return grown.names?.first
    }
  }

  /// Returns the IDs of the reports that must be removed from a group because the group has too many reports.
  ///
  /// The IDs of reports are random. Of the older reports, the reports with the smallest IDs remain. Therefore, the
  /// remaining reports are a uniform sample, even if other reports were removed because of their age.
  private static func surplus(
    of name: GrownGroups.Name, limit: Int, readers: StoreCursor?, _ now_ns: UInt64, in database: Database
  ) throws -> (ids: [String], surplus: Int) {
    let count = try Int.fetchOne(
      database, sql: "SELECT count(*) FROM group_reports WHERE group_key = ? AND uid = ?",
      arguments: [name.key, name.uid])
    guard let count, count > limit else { return ([], 0) }
    var floor = Int64.max
    if count / readersPatience <= limit {
      let recently = time(now_ns, minus: readersHour_s)
      let acked = try Int64.fetchOne(
        database, sql: "SELECT min(acked) FROM subscribers WHERE time >= ?", arguments: [recently])
      floor = min(acked ?? .max, readers?.sequence ?? .max)
    }
    let ids = try String.fetchAll(
      database,
      sql: """
        SELECT id FROM (
          SELECT id FROM group_reports WHERE group_key = :key AND uid = :uid ORDER BY time DESC, id DESC
          LIMIT -1 OFFSET :newest) AS older
        WHERE (SELECT seq FROM reports WHERE reports.id = older.id) <= :floor
        ORDER BY id DESC LIMIT :limit
        """,
      arguments: [
        "key": name.key, "uid": name.uid, "newest": max(1, limit / 4), "floor": floor,
        "limit": min(count - limit, removalBatch),
      ])
    return (ids, count - limit)
  }
}

// Keeps the size of the database within its limits.
extension ReportStore {
  private struct Size {
    var usedBytes: Int
    var freePages: Int
    var pageBytes: Int
  }

  private func shrink(_ policy: RetentionPolicy, freeBytes: Int?) throws(StoreError) -> RetentionStep? {
    let size = try size()
    let lacking = freeBytes.map { max(0, policy.keepFreeBytes - $0) } ?? 0
    // Return free pages to the file system before reports are removed, because the returned space can be sufficient.
    if size.freePages > 0, lacking > 0 || size.freePages * size.pageBytes > max(policy.bytes / 8, 4 << 20) {
      let pages = try giveBack()
      if pages > 0 { return .gaveBack(pages: pages) }
    }
    if size.usedBytes > policy.bytes { return try removeOldest(size.usedBytes - policy.bytes, .bytes) }
    let most = min(lacking, size.usedBytes - policy.minimumBytes)
    return most > 0 ? try removeOldest(most, .keepFree) : nil
  }

  private func size() throws(StoreError) -> Size {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        let number = { (sql: String) in try Int.fetchOne(database, sql: sql) ?? 0 }
        let (pages, free) = (try number("PRAGMA page_count"), try number("PRAGMA freelist_count"))
        let pageBytes = try number("PRAGMA page_size")
        return Size(usedBytes: (pages - free) * pageBytes, freePages: free, pageBytes: pageBytes)
      }
    }
  }

  /// Removes the oldest reports of the user whose reports take the most bytes.
  ///
  /// Therefore, a user with very many crashes causes only the removal of the user's own reports.
  private func removeOldest(_ bytes: Int, _ reason: RetentionReason) throws(StoreError) -> RetentionStep? {
    let fairShare = fairShare
    let count = try Self.translating(path) {
      try write { database in
        let rows = try Row.fetchAll(database, sql: "SELECT uid, bytes, reports FROM user_shares")
        let amounts = rows.map { row -> (Int64, Int) in (row["uid"], row["bytes"]) }
        guard let uid = fairShare.largest(of: Dictionary(amounts) { $1 }),
          let row = rows.first(where: { $0["uid"] == uid })
        else { return 0 }
        let (all, reports): (Int, Int) = (row["bytes"], row["reports"])
        let wanted = min(max(1, bytes / max(1, all / max(1, reports))), Self.removalBatch)
        let ids = try String.fetchAll(
          database, sql: "SELECT id FROM reports WHERE uid = ? ORDER BY seq LIMIT ?", arguments: [uid, wanted])
        try Self.remove(ids, isCounted: true, in: database)
        return ids.count
      }
    }
    return count == 0 ? nil : .removed(count, reason)
  }

  /// Shortens the database file by returning some of its free pages to the file system.
  private func giveBack() throws(StoreError) -> Int {
    return try Self.translating(path) {
      try writeWithoutTransaction { database in
        let before = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
        try database.execute(sql: "PRAGMA incremental_vacuum(\(Self.vacuumPages))")
        let after = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
        // While another thread reads the database, SQLite cannot shorten the file. A later checkpoint then does this.
        do { try database.checkpoint(.truncate) } catch let error as DatabaseError
          where error.resultCode == .SQLITE_BUSY
        {}
        return before - after
      }
    }
  }
}
