public import CrashProtocol
public import CrashReport
import FoundationEssentials
import GRDB

// Non-fatal incidents.
extension ReportStore {
  /// The limit of rows; the user with the most loses those that crashd stored first.
  public static let incidentLimit = 10_000
  /// Evicted incidents whose numbers are kept, divided among users as the incidents are: a reader that missed more of them
  /// learns of these.
  static let evictedIncidentLimit = 10_000

  /// Stores incidents, or their new counts: all of one reading, or none.
  /// - Throws: `StoreError.unavailable`.
  public func put(incidents: [IncidentReport]) throws(StoreError) {
    guard !incidents.isEmpty else { return }
    let (fairShare, full) = (fairShare, fullShares)
    try Self.translating(path) {
      let rows = try incidents.map { ($0, try JSONEncoder().encode($0)) }
      try write { database in
        for (incident, json) in rows {
          try Self.count(incident, fairShare, full, in: database)
          // A new row with the next number, also of one that is there: the numbers are crashd's own order, and none that
          // a process has a say in.
          try database.cachedStatement(
            sql: """
              INSERT OR REPLACE INTO incidents (id, uid, name, subject, source, last, json)
              VALUES (?, ?, ?, ?, ?, ?, ?)
              """
          ).execute(
            arguments: [
              incident.id, incident.process.ownerKey, incident.process.name, incident.subject,
              incident.source.rawValue, incident.last, json,
            ])
          // The row of one that was there went with it.
          try UseAfterFree(incident)?.insert(database)
        }
        try Self.evict(
          from: "incidents", key: "seq", order: "seq", limit: Self.incidentLimit, fairShare, in: database)
        try Self.evict(
          from: "evicted_incidents", key: "(uid, seq)", order: "seq", limit: Self.evictedIncidentLimit, fairShare,
          in: database)
      }
    }
  }

  /// Counts the occurrences of an incident since it was stored last.
  private static func count(
    _ incident: IncidentReport, _ fairShare: FairShare, _ full: FullShares, in database: Database
  ) throws {
    // A row that is damaged counts as none.
    let before = try Int.fetchOne(
      database.cachedStatement(
        sql: """
          SELECT CAST(json_extract(CAST(json AS TEXT), '$.count') AS INTEGER) FROM incidents
          WHERE id = ? AND uid = ? AND json_valid(CAST(json AS TEXT))
          """), arguments: [incident.id, incident.process.ownerKey])
    try count(
      .incident, EventCount(incident, before: before ?? 0), of: incident.process.ownerKey, fairShare, full,
      in: database)
  }

  /// Incidents, the one that was seen last first.
  /// - Parameters:
  ///   - filter: Which.
  ///   - visibility: Whose may be seen.
  ///   - offset: So many are left out before the first.
  ///   - limit: At most so many.
  /// - Returns: The incidents.
  /// - Throws: `StoreError.unavailable`.
  public func incidents(
    _ filter: IncidentFilter = IncidentFilter(), visibility: Visibility = .all, offset: Int = 0, limit: Int
  ) throws(StoreError) -> [IncidentReport] {
    let pool = try pool
    return try Self.translating(path) {
      let rows = try pool.read { database in
        try Data.fetchAll(
          database,
          sql: """
            SELECT json FROM incidents WHERE \(IncidentFilter.clause)
            ORDER BY last DESC, seq DESC LIMIT :limit OFFSET :offset
            """, arguments: filter.arguments(visibility, offset: offset, limit: limit))
      }
      // Skip what an older crashd wrote in another format.
      return rows.compactMap { try? JSONDecoder().decode(IncidentReport.self, from: $0) }
    }
  }
}
