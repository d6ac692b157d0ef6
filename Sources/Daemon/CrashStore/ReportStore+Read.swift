public import CrashProtocol
public import CrashReport
import FoundationEssentials
import GRDB

extension ReportStore {
  /// Returns the report whose ID begins with `prefix`.
  ///
  /// If `prefix` is nil, the result is the newest report.
  /// - Throws: `StoreError.noSuchReport`, `ambiguous`, `unreadable`, `unavailable`.
  public func report(idPrefix prefix: String?, visibility: Visibility = .all) throws(StoreError) -> StoredReport {
    let (pool, epoch) = try current
    return try Self.translating(path) {
      try pool.read { database in
        // Report IDs consist of hexadecimal digits. Reject any other prefix: no ID can match it, and it could contain
        // an SQL wildcard.
        let prefix = prefix ?? ""
        guard prefix.utf8.allSatisfy(Self.isHexadecimalDigit) else { throw StoreError.noSuchReport(id: prefix) }
        let wanted: StatementArguments = ["uid": visibility.uid, "glob": prefix.lowercased() + "*"]
        let which = "WHERE id GLOB :glob AND (:uid IS NULL OR uid = :uid)"
        if !prefix.isEmpty {
          let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM reports \(which)", arguments: wanted) ?? 0
          if count > 1 { throw StoreError.ambiguous(id: prefix, count: count) }
        }
        // The newest report is the report of the latest crash, which is not always the report that was stored last. For
        // example, reports from the spool, and reports that waited for symbols, are stored late.
        let newest = { (bound: String) in
          try Row.fetchOne(
            database,
            sql: "SELECT seq, id, time, json FROM reports \(which)\(bound) ORDER BY time DESC, seq DESC LIMIT 1",
            arguments: wanted)
        }
        // If a clock was wrong, a report can have a time in the future. Return such a report only if there is no other
        // one.
        let row = try newest(" AND time <= '\(Self.now)'") ?? newest("")
        guard let row else { throw StoreError.noSuchReport(id: prefix) }
        // Throw an error for a damaged row, whose columns can contain values of any type.
        guard let event = try? EventRow(row: row) else {
          throw StoreError.unreadable(id: String.fromDatabaseValue(row["id"]) ?? "")
        }
        return try StoredReport(event, epoch: epoch)
      }
    }
  }

  /// Returns a report and its raw record (the copy of the ring), which belong to the same version of the report.
  /// - Throws: The errors of `report`, and `changedMeanwhile`.
  public func reportAndRaw(
    idPrefix prefix: String?, visibility: Visibility = .all
  ) throws(StoreError) -> (cursor: StoreCursor, report: CrashReport, raw: [UInt8]) {
    let stored = try report(idPrefix: prefix, visibility: visibility)
    let raw = try raw(id: stored.id) ?? []
    // Check that the report was not replaced between the two reads.
    guard try report(idPrefix: stored.id).cursor == stored.cursor else {
      throw StoreError.changedMeanwhile(id: stored.id)
    }
    return (stored.cursor, try stored.report, raw)
  }

  /// Returns the raw record (the copy of the ring) of a report; nil if the report does not exist or has no raw record.
  /// - Throws: `StoreError.unavailable`.
  public func raw(id: String) throws(StoreError) -> [UInt8]? {
    let pool = try pool
    return try Self.translating(path) {
      let bytes = try pool.read { database in
        try Data.fetchOne(database, sql: "SELECT bytes FROM raw_records WHERE id = ?", arguments: [id])
      }
      return bytes.map { Array($0) }
    }
  }

  /// Returns at most `limit` events after `cursor`, in order.
  /// - Throws: `StoreError.invalidCursor`, `unavailable`.
  public func events(
    after cursor: StoreCursor, _ filter: ReportFilter = ReportFilter(), visibility: Visibility = .all, limit: Int
  ) throws(StoreError) -> [StoredReport] {
    try eventPage(after: cursor, filter, visibility: visibility, limit: limit).events
  }

  /// A page of events, in the order of their numbers.
  public struct EventPage: Sendable {
    /// The events on the page that can be read.
    public var events: [StoredReport]
    /// The number of events on the page that cannot be read, for example because they are damaged.
    ///
    /// An unreadable event does not prevent reading later events.
    public var unreadable: Int
    /// The cursor at which the next page begins.
    ///
    /// The cursor is after all events that the store has examined. Events that the filter excluded are thus not
    /// examined again.
    public var end: StoreCursor
    /// Whether the store had no further event when the page was read.
    public var isLast: Bool
  }

  /// Returns the events after `cursor`, in order.
  ///
  /// The page has at most `limit` events. The page has at most `limitBytes` bytes, unless its first event alone exceeds
  /// this size.
  /// - Throws: `StoreError.invalidCursor`, `unavailable`.
  public func eventPage(
    after cursor: StoreCursor, _ filter: ReportFilter = ReportFilter(), visibility: Visibility = .all, limit: Int,
    limitBytes: Int = ReportStore.eventPageLimitBytes
  ) throws(StoreError) -> EventPage {
    let (pool, epoch) = try current
    return try Self.translating(path) {
      try pool.read { database in
        try Self.check(cursor, epoch: epoch, in: database)
        var wanted = ReportConditions(filter, visibility)
        wanted.add(after: cursor.sequence)
        let page = try EventRow.page(
          database, sql: wanted.events, wanted.arguments(["limit": limit]), limit: limit, limitBytes: limitBytes)
        let events = page.rows.compactMap { try? StoredReport($0, epoch: epoch) }
        let end = page.isFull ? page.last ?? cursor.sequence : try Self.newestSequence(in: database)
        return EventPage(
          events: events, unreadable: page.unreadable + page.rows.count - events.count,
          end: StoreCursor(epoch: epoch, sequence: end), isLast: !page.isFull)
      }
    }
  }

  /// The default value of `limitBytes`, the maximum size of the reports on one page.
  public static let eventPageLimitBytes = 4 << 20

  /// Parses a cursor from its string form.
  /// - Throws: `StoreError.invalidCursor`, `unavailable`.
  public func cursor(_ text: String, kind: StoreCursor.Kind = .event) throws(StoreError) -> StoreCursor {
    guard let cursor = StoreCursor(text, of: try current.1, kind: kind) else {
      throw .invalidCursor(String(text.prefix(64)))
    }
    return cursor
  }

  /// Returns the cursor of the newest event.
  /// - Throws: `StoreError.unavailable`.
  public func newestCursor() throws(StoreError) -> StoreCursor {
    let (pool, epoch) = try current
    return try Self.translating(path) {
      StoreCursor(epoch: epoch, sequence: try pool.read { try Self.newestSequence(in: $0) })
    }
  }

  /// Returns the number of stored reports that the caller is allowed to read.
  /// - Throws: `StoreError.unavailable`.
  public func count(visibility: Visibility = .all) throws(StoreError) -> Int {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { try Self.count(visibility, in: $0) }
    }
  }

  /// Returns the number of stored reports that the caller is allowed to read.
  ///
  /// The number comes from stored sums, because counting the rows would have to read each of them.
  static func count(_ visibility: Visibility, in database: Database) throws -> Int {
    try Int.fetchOne(
      database, sql: "SELECT ifnull(sum(reports), 0) FROM user_shares WHERE :uid IS NULL OR uid = :uid",
      arguments: ["uid": visibility.uid]) ?? 0
  }

  /// Returns the size in bytes of the database file, without the write-ahead log.
  /// - Throws: `StoreError.unavailable`.
  public func sizeBytes() throws(StoreError) -> Int {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
        let pageBytes = try Int.fetchOne(database, sql: "PRAGMA page_size") ?? 0
        return pages * pageBytes
      }
    }
  }

  /// The current time, in the format of report times.
  static var now: String {
    Timestamp.string(since1970_ns: UInt64(max(0, Date().timeIntervalSince1970) * 1e9))
  }

  /// Whether the string can be the beginning of a group key.
  static func isKeyPrefix(_ text: String) -> Bool {
    text.utf8.allSatisfy(isHexadecimalDigit) && text.lowercased() == text
  }

  private static func isHexadecimalDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }

  static func check(_ cursor: StoreCursor, epoch: StoreEpoch, in database: Database) throws {
    guard cursor.epoch == epoch, try cursor.sequence <= newestSequence(in: database) else {
      throw StoreError.invalidCursor(cursor.description)
    }
  }

  /// Returns the highest number that the store has assigned to an event.
  ///
  /// The event with this number may no longer exist, because its report was replaced by a newer version or removed.
  static func newestSequence(in database: Database) throws -> Int64 {
    try Int64.fetchOne(database, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'reports'") ?? 0
  }
}
