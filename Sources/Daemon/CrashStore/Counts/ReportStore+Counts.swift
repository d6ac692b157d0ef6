import CrashReport
import FoundationEssentials
import GRDB

extension ReportStore {
  /// Returns the counts of one kind of event, highest count first.
  ///
  /// Each user has separate counts. The method does not add up the counts of several users, because the sum would
  /// decrease when a row of one user is removed.
  /// - Throws: `StoreError.unavailable`.
  public func counts(
    of event: EventCount.Event, visibility: Visibility = .all
  ) throws(StoreError) -> [EventCount] {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        // The query casts each value to the type of its column. Without the casts, one damaged value of another type
        // would make the whole query fail.
        try TypedRow<EventCount>.fetchAll(
          database,
          sql: """
            SELECT CAST(uid AS INTEGER) & \(OwnerKey.restricted - 1) AS uid, CAST(program AS TEXT) AS program, CAST(unit AS TEXT) AS unit,
              CAST(kind AS TEXT) AS kind, CAST(detail AS TEXT) AS detail, CAST(total(count) AS INTEGER) AS count,
              CAST(max(last) AS TEXT) AS last
            FROM event_counts WHERE event = :event AND (:uid IS NULL OR uid = :uid)
            GROUP BY 1, 2, 3, 4, 5 ORDER BY count DESC, uid, program, unit, kind, detail LIMIT :limit
            """, arguments: ["event": event.rawValue, "uid": visibility.uid, "limit": EventCount.totalLimit]
        ).map(\.fields)
      }
    }
  }

  /// Adds an event to the row that counts it.
  ///
  /// If the user has too many rows, the event is added to a row of `other`.
  static func count(
    _ event: EventCount.Event, _ added: EventCount, of owner: Int64, _ fairShare: FairShare, _ full: FullShares,
    in database: Database
  ) throws {
    guard added.count > 0 else { return }
    if try isAdded(event, added, of: owner, in: database) { return }
    let lack = full.lack(event, fairShare.share(of: owner))
    if let lack, try lack == .rows || !isKnown(added.program, event, of: owner, in: database),
      try isAdded(event, added.other(lack), of: owner, in: database)
    {
      return
    }
    let added = try admitted(event, added, of: owner, fairShare, full, in: database)
    try database.cachedStatement(
      sql: """
        INSERT INTO event_counts (event, uid, program, unit, kind, detail, count, last)
        VALUES (:event, :uid, :program, :unit, :kind, :detail, :count, :last)
        ON CONFLICT DO UPDATE SET count = min(count + excluded.count, \(EventCount.mostEvents)),
          last = max(last, excluded.last)
        """
    ).execute(arguments: arguments(event, added, owner))
    try evict(
      from: "event_counts", key: "(event, uid, program, unit, kind, detail)", order: "last",
      limit: EventCount.totalLimit, fairShare, in: database)
  }

  /// Adds an event to its row, if the row exists.
  ///
  /// Returns false if there is no row for the event.
  private static func isAdded(
    _ event: EventCount.Event, _ added: EventCount, of owner: Int64, in database: Database
  ) throws -> Bool {
    try database.cachedStatement(
      sql: """
        UPDATE event_counts SET count = min(count + :count, \(EventCount.mostEvents)), last = max(last, :last)
        WHERE event = :event AND uid = :uid AND program = :program AND unit = :unit AND kind = :kind AND detail = :detail
        """
    ).execute(arguments: arguments(event, added, owner))
    return database.changesCount > 0
  }

  private static func isKnown(
    _ program: String, _ event: EventCount.Event, of owner: Int64, in database: Database
  ) throws -> Bool {
    try Bool.fetchOne(
      database.cachedStatement(
        sql: "SELECT EXISTS (SELECT 1 FROM event_counts WHERE event = ? AND uid = ? AND program = ?)"),
      arguments: [event.rawValue, owner, program]) ?? false
  }

  private static func arguments(
    _ event: EventCount.Event, _ count: EventCount, _ owner: Int64
  ) -> StatementArguments {
    [
      "event": event.rawValue, "uid": owner, "program": count.program, "unit": count.unit, "kind": count.kind,
      "detail": count.detail, "count": count.count, "last": count.last,
    ]
  }

  /// Returns the row that must be inserted for an event that has no row yet.
  ///
  /// The result is the event's own row, or a row of `other` if the user has reached a limit. This method is expensive,
  /// but it is called only for events without a row. Many equal crashes cause only one call, or one call in a minute if
  /// the user has reached a limit (`FullShares`).
  private static func admitted(
    _ event: EventCount.Event, _ new: EventCount, of owner: Int64, _ fairShare: FairShare, _ full: FullShares,
    in database: Database
  ) throws -> EventCount {
    var (used, result) = (try use(of: event, by: owner, new.program, fairShare, in: database), new)
    if !used.isKnown, used.programs >= EventCount.programLimit {
      try forget(event, of: used.owners, in: database)
      used = try use(of: event, by: owner, new.program, fairShare, in: database)
      if used.programs >= EventCount.programLimit {
        result = new.other(.programs)
        full.note(.programs, event, fairShare.share(of: owner))
      }
    }
    if used.rows >= EventCount.rowLimit {
      result = new.other(.rows)
      full.note(.rows, event, fairShare.share(of: owner))
    }
    return result
  }

  /// The numbers of programs and rows that are charged to a user.
  ///
  /// The rows of several owners can be charged to one user: the numbers are sums over these owners.
  private struct Use {
    var programs = 0
    var rows = 0
    /// Whether the owner already has rows for the event's program.
    var isKnown = false
    var owners: [Int64] = []
  }

  private static func use(
    of event: EventCount.Event, by owner: Int64, _ program: String, _ fairShare: FairShare, in database: Database
  ) throws -> Use {
    let share = fairShare.share(of: owner)
    let found = try Row.fetchAll(
      database,
      sql: """
        SELECT CAST(uid AS INTEGER) AS owner, count(DISTINCT program) AS programs, count(*) AS rows,
          sum(program = :program) > 0 AS isKnown
        FROM event_counts WHERE event = :event GROUP BY uid
        """, arguments: ["event": event.rawValue, "program": program])
    return found.reduce(into: Use()) { use, row in
      let (uid, programs, rows, isKnown): (Int64, Int, Int, Bool) = (
        row["owner"], row["programs"], row["rows"], row["isKnown"]
      )
      guard fairShare.share(of: uid) == share else { return }
      use.owners.append(uid)
      (use.programs, use.rows) = (use.programs + programs, use.rows + rows)
      if uid == owner, isKnown { use.isKnown = true }
    }
  }

  /// Removes the rows of the owners' programs that had no event for the time `rest_s`.
  private static func forget(_ event: EventCount.Event, of owners: [Int64], in database: Database) throws {
    let limit = Timestamp.string(
      since1970_ns: UInt64(max(0, Date().timeIntervalSince1970 - Double(EventCount.rest_s)) * 1e9))
    let removal = try database.cachedStatement(
      sql: """
        DELETE FROM event_counts WHERE event = :event AND uid = :uid AND program IN (
          SELECT program FROM event_counts WHERE event = :event AND uid = :uid
          GROUP BY program HAVING max(last) < :limit)
        """)
    for owner in owners {
      try removal.execute(arguments: ["event": event.rawValue, "uid": owner, "limit": limit])
    }
  }
}
