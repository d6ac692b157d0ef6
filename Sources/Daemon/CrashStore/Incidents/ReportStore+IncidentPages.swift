public import CrashProtocol
public import CrashReport
import FoundationEssentials
import GRDB

// Incidents for subscribers, in the order in which crashd stored them.
extension ReportStore {
  /// A page of incidents in the order of their numbers.
  public struct IncidentPage: Sendable {
    /// The incidents that can be read.
    public var incidents: [IncidentReport]
    /// The cursor of the next page, after everything that was read.
    public var end: StoreCursor
    /// Whether no incident followed.
    public var isLast: Bool
    /// The number of incidents up to `end` that were evicted and not stored again, or that cannot be read.
    ///
    /// The number ignores the filter. Evicted incidents are counted only if the store has kept their numbers, which are
    /// at most 10,000.
    public var lost: Int
  }

  /// Returns incidents that were stored after `cursor`, or whose counts grew after it.
  ///
  /// The page has at most `limit` incidents and at most `limitBytes`, unless the first incident alone is larger.
  ///
  /// If the count of an incident grows, the incident gets the next number. Each incident therefore appears once, with
  /// its latest count.
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
        // Skips incidents that an older crashd wrote in another format.
        let incidents = page.rows.compactMap { try? JSONDecoder().decode(IncidentReport.self, from: $0.json) }
        let evicted = try Self.evicted(after: cursor.sequence, through: end, visibility, in: database)
        return IncidentPage(
          incidents: incidents, end: StoreCursor(epoch: epoch, sequence: end, kind: .incident), isLast: !page.isFull,
          lost: evicted + page.unreadable + page.rows.count - incidents.count)
      }
    }
  }

  /// Returns the cursor of the last stored incident, or the cursor before the first incident.
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

  /// Returns the last number that was assigned.
  ///
  /// The incident with that number may be evicted.
  static func newestIncident(in database: Database) throws -> Int64 {
    if let last = try Int64.fetchOne(database, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'incidents'") {
      return last
    }
    // A database that was set aside may have an older schema.
    return try Int64.fetchOne(database, sql: "SELECT max(rowid) FROM incidents") ?? 0
  }
}
