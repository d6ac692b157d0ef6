public import CrashProtocol
public import CrashReport
import FoundationEssentials
import GRDB

// Stores and returns non-fatal incidents.
extension ReportStore {
  /// The maximum number of stored incidents.
  ///
  /// If there are more incidents, incidents of the user with the most incidents are evicted, oldest first in the order
  /// in which crashd stored them.
  public static let incidentLimit = 10_000
  /// The maximum number of evicted incidents whose numbers the store remembers.
  ///
  /// The limit is divided among users in the same way as `incidentLimit`. If a subscriber has missed more incidents
  /// than the store remembers, it receives too low a number of lost incidents.
  static let evictedIncidentLimit = 10_000

  /// Stores the incidents that one reading of a ring found, or updates their counts, in one transaction.
  /// - Throws: `StoreError.unavailable`.
  public func put(incidents: [IncidentReport]) throws(StoreError) {
    guard !incidents.isEmpty else { return }
    let (fairShare, full) = (fairShare, fullShares)
    try Self.translating(path) {
      let rows = try incidents.map { ($0, try JSONEncoder().encode($0)) }
      try write { database in
        for (incident, json) in rows {
          try Self.count(incident, fairShare, full, in: database)
          // An incident that is stored again also gets a new row, with the next number. crashd assigns the numbers in
          // the order in which it stores incidents, so that a process cannot influence them.
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
          // The table `use_after_frees` now has no row with this ID, because replacing the row in `incidents` has
          // deleted it.
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

  /// Adds the occurrences since the incident was last stored to the event counts.
  private static func count(
    _ incident: IncidentReport, _ fairShare: FairShare, _ full: FullShares, in database: Database
  ) throws {
    // If the row is damaged, the number of earlier occurrences is treated as 0.
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

  /// Returns incidents, sorted by the time when they were last seen, latest first.
  /// - Parameters:
  ///   - filter: The conditions that the incidents must satisfy.
  ///   - visibility: The users whose incidents the caller is allowed to read.
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
      // Skip incidents that an older crashd stored in another format.
      return rows.compactMap { try? JSONDecoder().decode(IncidentReport.self, from: $0) }
    }
  }
}
