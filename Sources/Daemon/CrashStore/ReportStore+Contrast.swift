package import CrashProtocol
import GRDB

/// Samples of the reports of a group and of other reports of the same programs, for a comparison.
public struct ContrastSample: Sendable {
  /// The whole key of the group.
  public var key: String
  /// The number of stored reports of the group.
  public var groupStored: Int
  /// The fields of the compared reports of the group.
  public var group: [ContrastFields]
  /// The fields of the compared reports in other groups.
  public var rest: [ContrastFields]
}

/// The compared fields of a report, as JSON values in the order of `names`.
public struct ContrastFields: Sendable, Equatable {
  /// The paths of the fields in the JSON of a report.
  package static let names = [
    "process.buildID", "process.unit", "process.swiftVersion", "process.architecture", "process.uid", "process.pid",
    "process.commandLine", "process.uptime_ms", "machine.host", "machine.kernel", "machine.distribution",
    "machine.processor", "machine.processors", "container.pod", "container.namespace", "container.node",
    "container.runtime", "release", "environment", "resources.residentBytes", "resources.memoryLimitBytes",
    "inFlight.total", "time", "threads[0].tid", "threads[0].name", "threads[0].task", "threads[0].request.operation",
    "annotations",
  ]
  package var values: [String: JSONValue]
}

extension ReportStore {
  /// The maximum number of compared reports of a group, and the maximum number of compared other reports.
  public static let (contrastGroupLimit, contrastRestLimit) = (500, 1_500)
  /// The number of the newest reports of the same programs from which the other reports are sampled.
  static let contrastReach = 20_000
  /// The maximum size of a report in a sample, in bytes; larger reports are skipped.
  static let contrastReportBytes = 512 << 10
  /// The maximum number of bytes of reports that a comparison reads; the reports of the group get at most half of them.
  static let contrastBudgetBytes = 64 << 20

  /// Reads a sample of the reports of a group, and of the other reports of the same programs.
  ///
  /// The sample takes every report if there are few, and otherwise reports at equal distances in the order of their
  /// times. If the reports are large, the reading ends when `contrastBudgetBytes` is used up. The reports that were
  /// read until then are still spread over the whole time.
  /// - Throws: `StoreError.noSuchGroup` if no key or several keys begin with `prefix`; `unavailable`.
  public func contrastSample(_ prefix: String, visibility: Visibility = .all) throws(StoreError) -> ContrastSample {
    try contrastSample(prefix, visibility: visibility, budgetBytes: Self.contrastBudgetBytes)
  }

  func contrastSample(
    _ prefix: String, visibility: Visibility = .all, budgetBytes: Int
  ) throws(StoreError) -> ContrastSample {
    let pool = try pool
    return try Self.translating(path) {
      guard !prefix.isEmpty, let wanted = GroupRestriction(ReportFilter(group: prefix), visibility) else {
        throw StoreError.noSuchGroup(key: prefix)
      }
      return try pool.read { database in
        let keys = try String.fetchAll(
          database,
          sql: """
            SELECT DISTINCT group_key FROM group_reports \(wanted.clause)
            UNION SELECT DISTINCT group_key FROM group_past \(wanted.pastClause) LIMIT 2
            """, arguments: wanted.arguments([:]))
        guard let key = keys.first, keys.count == 1 else { throw StoreError.noSuchGroup(key: prefix) }
        let own = try Int64.fetchAll(
          database,
          sql: "SELECT seq FROM group_reports \(wanted.clause) AND seq IS NOT NULL ORDER BY time, id",
          arguments: wanted.arguments([:]))
        let rest = try Self.others(than: key, visibility, in: database)
        var budget = budgetBytes / 2
        let group = try Self.fields(Self.spread(own, Self.contrastGroupLimit), &budget, in: database)
        budget += budgetBytes - budgetBytes / 2
        return ContrastSample(
          key: key, groupStored: own.count, group: group,
          rest: try Self.fields(Self.spread(rest, Self.contrastRestLimit), &budget, in: database))
      }
    }
  }

  /// Returns the event numbers of the newest reports that are not in the group but are of one of its programs.
  private static func others(than key: String, _ visibility: Visibility, in database: Database) throws -> [Int64] {
    try Int64.fetchAll(
      database,
      sql: """
        SELECT seq FROM reports INDEXED BY reports_list
        WHERE name IN (
            SELECT DISTINCT name FROM group_reports WHERE group_key = :key AND (:uid IS NULL OR uid = :uid))
          AND seq NOT IN (SELECT seq FROM group_reports WHERE group_key = :key AND seq IS NOT NULL)
          AND (:uid IS NULL OR uid = :uid)
        ORDER BY seq DESC LIMIT :reach
        """, arguments: ["key": key, "uid": visibility.uid, "reach": contrastReach])
  }

  /// Returns at most `limit` elements at equal distances.
  static func spread(_ numbers: [Int64], _ limit: Int) -> [Int64] {
    guard numbers.count > limit else { return numbers }
    return (0..<limit).map { numbers[$0 * numbers.count / limit] }
  }

  /// Returns the elements in a fixed order in which the first n elements are spread over the whole list, for every n.
  ///
  /// The elements are sorted by the fractional part of their index times the golden ratio (Fibonacci hashing).
  static func scattered(_ numbers: [Int64]) -> [Int64] {
    let fraction = { (index: Int) in UInt32(truncatingIfNeeded: index) &* 2_654_435_769 }
    return numbers.indices.sorted { fraction($0) < fraction($1) }.map { numbers[$0] }
  }

  /// Reads the compared fields of reports, until the budget of bytes is used.
  ///
  /// SQLite finds the fields, because decoding whole reports takes ten times as long. A report that is not JSON is
  /// skipped.
  private static func fields(
    _ numbers: [Int64], _ budgetBytes: inout Int, in database: Database
  ) throws -> [ContrastFields] {
    let paths = ContrastFields.names.map { "'$.\($0)'" }.joined(separator: ", ")
    let statement = try database.cachedStatement(
      sql: """
        SELECT bytes, CASE WHEN json_valid(text) THEN json_extract(text, \(paths)) END AS found FROM (
          SELECT length(json) AS bytes, CAST(json AS TEXT) AS text FROM reports
          WHERE seq = ? AND length(json) <= \(contrastReportBytes))
        """)
    var fields: [ContrastFields] = []
    for number in scattered(numbers) where budgetBytes > 0 {
      guard let row = try Row.fetchOne(statement, arguments: [number]) else { continue }
      budgetBytes -= row["bytes"]
      guard let text: String = row["found"], case .array(let values)? = JSONValue(parsing: Array(text.utf8)),
        values.count == ContrastFields.names.count
      else { continue }
      fields.append(ContrastFields(values: Dictionary(zip(ContrastFields.names, values)) { first, _ in first }))
    }
    return fields
  }
}
