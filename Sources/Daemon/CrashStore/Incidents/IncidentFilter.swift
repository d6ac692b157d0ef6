import CrashProtocol
import CrashReport
import GRDB

// Builds the SQL conditions of a filter for incidents.
extension IncidentFilter {
  /// The SQL condition of a filter.
  ///
  /// Fields that have no column are read from the JSON of each row.
  ///
  /// Reading JSON is fast enough here, because there are at most 10,000 rows.
  static let clause = """
    (:uid IS NULL OR uid = :uid) AND (:source IS NULL OR source = :source)
      AND (:name IS NULL OR instr(name, :name) > 0) AND (:id IS NULL OR substr(id, 1, length(:id)) = :id
        OR substr(id, instr(id, '-') + 1, length(:id)) = :id)
      AND (:since IS NULL OR last >= :since)
      AND (:kind IS NULL OR json_extract(CAST(json AS TEXT), '$.kind') = :kind)
      AND (:site IS NULL OR instr(json_extract(CAST(json AS TEXT), '$.site'), :site) > 0)
      AND (:route IS NULL OR json_extract(CAST(json AS TEXT), '$.request.operation') = :route)
    """

  func arguments(_ visibility: Visibility, offset: Int = 0, limit: Int) -> StatementArguments {
    [
      "uid": visibility.uid, "source": source?.rawValue, "name": name, "id": id, "since": since, "kind": kind?.rawValue,
      "site": site, "route": route, "limit": limit, "offset": offset,
    ]
  }
}
