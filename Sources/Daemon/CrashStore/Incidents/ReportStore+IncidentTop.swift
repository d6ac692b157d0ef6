public import CrashProtocol
import CrashReport
import GRDB

extension ReportStore {
  /// Returns the numbers of occurrences of the incidents with the same `key`, most frequent first.
  /// - Throws: `StoreError.unavailable`.
  public func topIncidents(
    by key: IncidentSum.Key, _ filter: IncidentFilter = IncidentFilter(), visibility: Visibility = .all, limit: Int
  ) throws(StoreError) -> [IncidentSum] {
    let pool = try pool
    let columns =
      switch key {
      case .kind: ["source", "kind"]
      case .site: ["source", "kind", "place"]
      case .name: ["name"]
      }
    let selected = ["source", "kind", "place", "name"].map { columns.contains($0) ? $0 : "'' AS \($0)" }
    return try Self.translating(path) {
      try pool.read { database in
        // Because the query uses max(), SQLite takes the values of the other columns from the row with the maximum. The
        // query uses the SQL function total(), because sum() fails if the sum overflows.
        try TypedRow<IncidentSum>.fetchAll(
          database,
          sql: """
            WITH told AS (
              SELECT id, source, name, last, ifnull(json_extract(CAST(json AS TEXT), '$.kind'), '') AS kind,
                coalesce(json_extract(CAST(json AS TEXT), '$.site'), subject) AS place,
                json_extract(CAST(json AS TEXT), '$.count') AS count
              FROM incidents WHERE \(IncidentFilter.clause))
            SELECT \(selected.joined(separator: ", ")), CAST(total(count) AS INTEGER) AS count, count(*) AS incidents,
              count(DISTINCT substr(id, 1, instr(id, '-'))) AS processes, max(last) AS last, id
            FROM told GROUP BY \(columns.joined(separator: ", ")) ORDER BY total(count) DESC, last DESC, id LIMIT :limit OFFSET :offset
            """, arguments: filter.arguments(visibility, limit: limit)
        ).map(\.fields)
      }
    }
  }
}
