public import CrashProtocol
public import CrashReport
import FoundationEssentials
import GRDB

// Reads pages of incidents for subscribers, in the order in which crashd stored the incidents.
extension ReportStore {
  /// A page of incidents, in the order of their numbers in the store.
  public struct IncidentPage: Sendable {
    /// The incidents on the page that can be read.
    public var incidents: [IncidentReport]
    /// The cursor at which the next page begins.
    ///
    /// The cursor is after all incidents that the store has examined.
    public var end: StoreCursor
    /// Whether the store had no further incident when the page was read.
    public var isLast: Bool
    /// The number of incidents before `end` that cannot be read, or that were evicted and not stored again.
    ///
    /// The number also includes incidents that the filter excludes. The store remembers at most 10,000 evicted
    /// incidents, and does not count earlier evictions.
    public var lost: Int
  }

  /// Returns the incidents that were stored after `cursor`, and the incidents whose counts have increased since
  /// `cursor`.
  ///
  /// The page has at most `limit` incidents. The page has at most `limitBytes` bytes, unless its first incident alone
  /// exceeds this size.
  ///
  /// The order is that of the incidents' numbers. If the count of an incident increases, the store replaces the number
  /// of the incident by the next unused number. A later page then contains the incident again, with its new count. A
  /// reader that had not reached the old number gets the incident only once.
  /// - Throws: `StoreError.invalidCursor`, `unavailable`.
  public func incidentPage(
    after cursor: StoreCursor, _ filter: IncidentFilter = IncidentFilter(), visibility: Visibility = .all, limit: Int,
    limitBytes: Int = ReportStore.eventPageLimitBytes
  ) throws(StoreError) -> IncidentPage {
    let (pool, epoch) = try current
    return try Self.translating(path) {
      try pool.read { database in
        let newest = try Self.newestIncident(in: database)
        guard cursor.epoch == epoch, cursor.kind == .incident, cursor.sequence <= newest else {
          throw StoreError.invalidCursor(cursor.description)
        }
        var arguments = filter.arguments(visibility, limit: limit)
        arguments += ["after": cursor.sequence]
        let page = try EventRow.page(
          database,
          sql: """
            SELECT seq, id, last AS time, json FROM incidents
            WHERE seq > :after AND \(IncidentFilter.clause) ORDER BY seq LIMIT :limit OFFSET :offset
            """, arguments, limit: limit, limitBytes: limitBytes)
        let end = page.isFull ? page.last ?? cursor.sequence : newest
        // Skip incidents that an older crashd stored in another format.
        let incidents = page.rows.compactMap { try? JSONDecoder().decode(IncidentReport.self, from: $0.json) }
        let evicted = try Self.evicted(after: cursor.sequence, through: end, visibility, in: database)
        return IncidentPage(
          incidents: incidents, end: StoreCursor(epoch: epoch, sequence: end, kind: .incident), isLast: !page.isFull,
          lost: evicted + page.unreadable + page.rows.count - incidents.count)
      }
    }
  }

  /// Returns the cursor after all incidents, or the cursor before all incidents.
  ///
  /// If `isNewest` is true, the result is the cursor of the incident that was stored last; otherwise, the cursor before
  /// the first incident.
  /// - Throws: `StoreError.unavailable`.
  public func incidentCursor(isNewest: Bool) throws(StoreError) -> StoreCursor {
    let (pool, epoch) = try current
    return try Self.translating(path) {
      StoreCursor(
        epoch: epoch, sequence: isNewest ? try pool.read { try Self.newestIncident(in: $0) } : 0, kind: .incident)
    }
  }

  /// Returns the number of incidents that were evicted and not stored again.
  /// - Throws: `StoreError.unavailable`.
  public func evictedIncidents(visibility: Visibility = .all) throws(StoreError) -> Int {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { try Self.evicted(after: 0, through: .max, visibility, in: $0) }
    }
  }

  private static func evicted(
    after start: Int64, through end: Int64, _ visibility: Visibility, in database: Database
  ) throws -> Int {
    try Int.fetchOne(
      database,
      sql: """
        SELECT count(*) FROM evicted_incidents WHERE seq > :start AND seq <= :end AND (:uid IS NULL OR uid = :uid)
        """, arguments: ["start": start, "end": end, "uid": visibility.uid]) ?? 0
  }

  /// Returns the highest number that the store has assigned to an incident.
  ///
  /// The incident with this number may already have been evicted.
  static func newestIncident(in database: Database) throws -> Int64 {
    if let last = try Int64.fetchOne(database, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'incidents'") {
      return last
    }
    // The parameter `database` can be a damaged database of an older crashd that was set aside. A database with an
    // older schema does not record the assigned numbers.
    return try Int64.fetchOne(database, sql: "SELECT max(rowid) FROM incidents") ?? 0
  }
}
