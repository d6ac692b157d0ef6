import CrashProtocol
import CrashReport
import FoundationEssentials
import GRDB

/// A database row whose columns have the same names as the fields of `Fields`, which is a type of another module.
struct TypedRow<Fields: Codable>: Codable, FetchableRecord, EncodableRecord {
  var fields: Fields

  init(_ fields: Fields) { self.fields = fields }
  init(from decoder: any Decoder) throws { fields = try Fields(from: decoder) }
  func encode(to encoder: any Encoder) throws { try fields.encode(to: encoder) }
}

/// A row of `reports`, with the fields of the report's summary and the report as JSON.
struct ReportRow: PersistableRecord {
  static let databaseTableName = "reports"

  /// The event number; if it is nil, SQLite assigns the next number.
  var number: Int64?
  var report: CrashReport
  var json: Data

  /// The fields of a summary that have a column in the database, each with the name of its column.
  ///
  /// For example, the column of `groupKey` is `group_key`.
  private static let columns: [(field: String, column: String)] = (FieldShape.fields(of: ReportSummary.self) ?? [])
    .map(\.name)
    .filter { !["cursor", "isPreliminary"].contains($0) && !(tags.map(\.field) + requestFields).contains($0) }
    .map { field in
      (field, field.reduce(into: "") { $0 += $1.isUppercase ? "_\($1.lowercased())" : String($1) })
    }

  /// The fields of a summary that are stored as tags in `report_tags`.
  private static let tags: [(field: String, key: String)] =
    CrashReport.WellKnown.allCases.map { ($0.rawValue, $0.rawValue) }
    + [("containerID", "container.id"), ("pod", "k8s.pod.name"), ("namespace", "k8s.namespace.name")]
  /// The fields of a summary that are stored in `report_requests`.
  private static let requestFields = ["route", "traceID"]

  /// The columns that `TypedRow<ReportSummary>` reads.
  ///
  /// The column for the cursor contains the event number.
  static let summary =
    "CAST(seq AS TEXT) AS cursor, " + columns.map { "\($0.column) AS \($0.field)" }.joined(separator: ", ")
    + tags.map { ", (\(tag($0.key, of: "reports.seq"))) AS \($0.field)" }.joined()
    + requestFields.map { ", (\(tag($0, of: "reports.seq", in: requestTable))) AS \($0)" }.joined()

  /// The names of the tables for annotations and for the fields of requests.
  ///
  /// Both tables have the same columns.
  static let (tagTable, requestTable) = ("report_tags", "report_requests")

  /// Returns the SQL for the value of a tag of a report.
  ///
  /// The parameter `sequence` is an SQL expression for the event number of the report.
  static func tag(_ key: String, of sequence: String, in table: String = tagTable) -> String {
    "SELECT value FROM \(table) WHERE \(table).seq = \(sequence) AND key = '\(key)'"
  }

  func encode(to container: inout PersistenceContainer) throws {
    let fields = try TypedRow(ReportSummary(report, cursor: "")).databaseDictionary
    for (field, column) in Self.columns { container[column] = fields[field] }
    (container["seq"], container["uid"], container["json"]) = (number, report.process.ownerKey, json)
  }
}

/// A row that contains a report or an incident as JSON.
struct EventRow: Decodable, FetchableRecord {
  var seq: Int64
  var id: String
  var time: String
  var json: Data

  /// Returns the next rows in order; their total size is at most `limitBytes` bytes.
  ///
  /// If the first row alone exceeds this size, only the first row is returned.
  ///
  /// - Returns: The readable rows, the number of unreadable rows, the number of the last row, and whether more rows
  ///   possibly follow.
  static func page(
    _ database: Database, sql: String, _ arguments: StatementArguments, limit: Int, limitBytes: Int
  ) throws -> (rows: [EventRow], unreadable: Int, last: Int64?, isFull: Bool) {
    let found = try Row.fetchCursor(database, sql: sql, arguments: arguments)
    var (rows, count, bytes, last): ([EventRow], Int, Int, Int64?) = ([], 0, 0, nil)
    while let row = try found.next() {
      let read = try? EventRow(row: row)
      bytes += read?.json.count ?? 0
      if count > 0, bytes > limitBytes { return (rows, count - rows.count, last, true) }
      (count, last) = (count + 1, row["seq"])
      if let read { rows.append(read) }
    }
    return (rows, count - rows.count, last, count == limit)
  }
}
