public import CrashReport
import FoundationEssentials
import GRDB

// What happened while processes went on.
extension ReportStore {
  /// Rows; beyond them the one that was seen last the longest ago goes.
  public static let incidentLimit = 10_000

  /// Stores an incident, or what has become of it since.
  /// - Throws: `StoreError.unavailable`.
  public func put(incident: IncidentReport) throws(StoreError) {
    let pool = pool
    try Self.translating(path) {
      let json = try JSONEncoder().encode(incident)
      try pool.write { database in
        try database.execute(
          sql: """
            INSERT INTO incidents (id, uid, name, subject, source, last, json) VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id, uid) DO UPDATE SET last = excluded.last, json = excluded.json
            """,
          arguments: [
            incident.id, incident.process.ownerKey, incident.process.name, incident.subject, incident.source,
            incident.last,
            json,
          ])
        try database.execute(
          sql: """
            DELETE FROM incidents WHERE rowid IN
              (SELECT rowid FROM incidents ORDER BY last DESC, rowid DESC LIMIT -1 OFFSET ?)
            """, arguments: [Self.incidentLimit])
      }
    }
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
    let pool = pool
    return try Self.translating(path) {
      let rows = try pool.read { database in
        try Data.fetchAll(
          database,
          sql: """
            SELECT json FROM incidents WHERE \(IncidentFilter.clause)
            ORDER BY last DESC, rowid DESC LIMIT :limit OFFSET :offset
            """, arguments: filter.arguments(visibility, offset: offset, limit: limit))
      }
      // What an older crashd wrote in another form is left out.
      return rows.compactMap { try? JSONDecoder().decode(IncidentReport.self, from: $0) }
    }
  }
}
