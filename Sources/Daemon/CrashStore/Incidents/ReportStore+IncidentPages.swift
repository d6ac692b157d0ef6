public import CrashProtocol
public import CrashReport
import FoundationEssentials
import GRDB

// Incidents in the order in which crashd has stored them, for those who follow.
extension ReportStore {
  /// Some incidents in their order.
  public struct IncidentPage: Sendable {
    /// Those that can be read.
    public var incidents: [IncidentReport]
    /// Where the next page begins: behind all that was read.
    public var end: StoreCursor
    /// Whether there was nothing behind it.
    public var isLast: Bool
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
            SELECT rowid AS seq, id, last AS time, json FROM incidents
            WHERE rowid > :after AND \(IncidentFilter.clause) ORDER BY rowid LIMIT :limit OFFSET :offset
            """, arguments, limit: limit, limitBytes: limitBytes)
        let end = page.isFull ? page.last ?? cursor.sequence : newest
        return IncidentPage(
          // What an older crashd wrote in another form is left out.
          incidents: page.rows.compactMap { try? JSONDecoder().decode(IncidentReport.self, from: $0.json) },
          end: StoreCursor(epoch: epoch, sequence: end, kind: .incident), isLast: !page.isFull)
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

  private static func newestIncident(in database: Database) throws -> Int64 {
    try Int64.fetchOne(database, sql: "SELECT max(rowid) FROM incidents") ?? 0
  }
}
