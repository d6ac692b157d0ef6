public import CrashProtocol
public import CrashReport
import FoundationEssentials
import GRDB

// Incidents in the order in which crashd has stored them, for subscribers.
extension ReportStore {
  /// Some incidents in their order.
  public struct IncidentPage: Sendable {
    /// Those that can be read.
    public var incidents: [IncidentReport]
    /// The cursor of the next page: after everything that was read.
    public var end: StoreCursor
    /// Whether nothing followed.
    public var isLast: Bool
    /// How many incidents up to `end` were evicted and have not come again, or cannot be read.
    ///
    /// Whatever the filter. Of the evicted ones only those are counted whose numbers the store has kept: at most 10,000.
    public var lost: Int
  }

  /// Incidents that were stored, or counted on, after `cursor`: at most `limit`, and at most `limitBytes` unless the first
  /// one alone has more.
  ///
  /// One that is counted on gets the next number, so it stands in one place, with its latest count.
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
        // Skip what an older crashd wrote in another format.
        let incidents = page.rows.compactMap { try? JSONDecoder().decode(IncidentReport.self, from: $0.json) }
        let evicted = try Self.evicted(after: cursor.sequence, through: end, visibility, in: database)
        return IncidentPage(
          incidents: incidents, end: StoreCursor(epoch: epoch, sequence: end, kind: .incident), isLast: !page.isFull,
          lost: evicted + page.unreadable + page.rows.count - incidents.count)
      }
    }
  }

  /// The cursor of the incident that was stored last, or the one before the first.
  /// - Throws: `StoreError.unavailable`.
  public func incidentCursor(isNewest: Bool) throws(StoreError) -> StoreCursor {
    let (pool, epoch) = try current
    return try Self.translating(path) {
      StoreCursor(
        epoch: epoch, sequence: isNewest ? try pool.read { try Self.newestIncident(in: $0) } : 0, kind: .incident)
    }
  }

  /// Incidents that were evicted before now, and have not come again.
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

  /// The last number that was given out; that incident may be evicted.
  static func newestIncident(in database: Database) throws -> Int64 {
    if let last = try Int64.fetchOne(database, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'incidents'") {
      return last
    }
    // A database that was set aside may be of an older version.
    return try Int64.fetchOne(database, sql: "SELECT max(rowid) FROM incidents") ?? 0
  }
}
