public import CrashProtocol
public import CrashReport
import FoundationEssentials
import GRDB

// Non-fatal incidents.
extension ReportStore {
  /// The maximum number of rows.
  ///
  /// Beyond it, the user with the most rows loses the incidents that crashd stored first.
  public static let incidentLimit = 10_000
  /// The maximum number of evicted incidents whose numbers are kept, divided among users like the incidents.
  ///
  /// If a reader missed more, the reported number of lost incidents is a lower bound.
  static let evictedIncidentLimit = 10_000

  /// Stores the incidents of one reading, or their new counts, in one transaction.
  /// - Throws: `StoreError.unavailable`.
  public func put(incidents: [IncidentReport]) throws(StoreError) {
    guard !incidents.isEmpty else { return }
    let (fairShare, full) = (fairShare, fullShares)
    try Self.translating(path) {
      let rows = try incidents.map { ($0, try JSONEncoder().encode($0)) }
      try write { database in
        for (incident, json) in rows {
          try Self.count(incident, fairShare, full, in: database)
          // Even an existing incident gets a new row with the next number. The numbers follow crashd's own order, which
          // a process cannot influence.
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
          // Replacing the incident's row has deleted the old row here.
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

  /// Counts the occurrences of an incident since it was last stored.
  private static func count(
    _ incident: IncidentReport, _ fairShare: FairShare, _ full: FullShares, in database: Database
  ) throws {
    // A damaged row counts as no occurrence.
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

  /// Returns incidents, the last seen first.
  /// - Parameters:
  ///   - filter: The filter of the incidents.
  ///   - visibility: The users whose incidents may be returned.
  ///   - offset: The number of incidents to skip.
  ///   - limit: The maximum number of incidents.
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
      // Skips incidents that an older crashd wrote in another format.
      return rows.compactMap { try? JSONDecoder().decode(IncidentReport.self, from: $0) }
    }
  }
}
