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
        // A row at a time: of an incident that does not fit any more only the size is read.
        let rows = try Row.fetchCursor(
          database,
          sql: """
            SELECT rowid AS seq, length(json) AS bytes, json FROM incidents
            WHERE rowid > :after AND \(IncidentFilter.clause) ORDER BY rowid LIMIT :limit OFFSET :offset
            """, arguments: arguments)
        var (incidents, count, bytes, end): ([IncidentReport], Int, Int, Int64) = ([], 0, 0, cursor.sequence)
        var isFull = false
        while !isFull, let row = try rows.next() {
          bytes += row["bytes"] as Int
          isFull = count > 0 && bytes > limitBytes
          guard !isFull else { continue }
          count += 1
          end = row["seq"]
          // Skip what an older crashd wrote in another format.
          if let incident = try? JSONDecoder().decode(IncidentReport.self, from: row["json"] as Data) {
            incidents.append(incident)
          }
        }
        let isLast = !isFull && count < limit
        return IncidentPage(
          incidents: incidents, end: StoreCursor(epoch: epoch, sequence: isLast ? newest : end, kind: .incident),
          isLast: isLast)
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
