public import CrashProtocol
public import CrashReport
import GRDB

/// Builds the SQL conditions of a filter for reports.
///
/// The SQL contains conditions only for fields that the filter sets. SQLite can then use an index for the order of the
/// rows.
///
/// If the filter has tags, the query starts with the rows of the filter's first tag. The index of these rows has the
/// order of the reports, so SQLite reads only the rows within the requested bounds.
struct ReportConditions {
  private var conditions: [String] = []
  /// The conditions on the rows of the filter's first tag; empty if the filter has no tags.
  private var tagConditions: [String] = []
  /// The table that contains the first tag of the filter.
  private var tagTable = ReportRow.tagTable
  private var values: [String: (any DatabaseValueConvertible)?] = [:]

  init(_ filter: ReportFilter, _ visibility: Visibility) {
    if let uid = visibility.uid { add("uid = :uid", "uid", uid) }
    if let pid = filter.pid { add("pid = :pid", "pid", pid) }
    for (field, wanted) in filter.wantedTexts where !field.match.isLookup { add(field.condition(), field.name, wanted) }
    for (number, tag) in filter.wantedTags.enumerated() {
      if number == 0 {
        tagTable = tag.table
        tagConditions = [ReportFilter.isTag(number)] + (visibility.uid == nil ? [] : ["uid = :uid"])
      } else {
        conditions.append(ReportFilter.hasTag(number, tag, of: "reports.seq"))
      }
      values.merge(ReportFilter.arguments(ofTag: number, tag)) { $1 }
    }
    // The greatest hexadecimal digit is f. Therefore, in sort order, every key with the prefix is before the string
    // that consists of the prefix and g. If several threads crashed, the report belongs to several groups, and `others`
    // finds the reports by the further groups.
    if let group = filter.group {
      let isInGroup = "group_key >= :group AND group_key < :group || 'g'"
      let others = """
        SELECT (SELECT own.seq FROM reports AS own WHERE own.id = group_reports.id) FROM group_reports
        WHERE bytes = 0 AND \(isInGroup)
        """
      add("(\(isInGroup) OR seq IN (\(others)))", "group", group)
    }
    if let since = filter.since { add("time >= :since", "since", since) }
    if let until = filter.until { add("time <= :until", "until", until) }
  }

  mutating func add(before sequence: Int64) { add("seq < :before", "before", sequence) }
  mutating func add(after sequence: Int64) { add("seq > :after", "after", sequence) }

  /// The SQL that returns the events that match the filter, in order.
  var events: String { "SELECT seq, id, time, json \(source()) ORDER BY \(order) LIMIT :limit" }

  /// Returns the SQL for the event numbers of the reports on a page.
  ///
  /// The query uses an index that contains all columns of the conditions. Reading the rows themselves would be slow,
  /// because each row contains JSON and takes several database pages.
  func page(isOldestFirst: Bool) -> String {
    "SELECT seq \(source(Self.index)) ORDER BY \(order) \(isOldestFirst ? "ASC" : "DESC") LIMIT :limit"
  }

  var count: String { "SELECT count(*) \(source(Self.index))" }

  private static let index = "INDEXED BY reports_list"
  private var order: String { tagConditions.isEmpty ? "seq" : "tagged" }

  private func source(_ index: String = "") -> String {
    let clause = conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")
    if tagConditions.isEmpty { return "FROM reports \(index) \(clause)" }
    // SQLite must read the rows of tags first. CROSS JOIN prevents SQLite from changing this order of the tables. From
    // the bounds on the reports, SQLite derives bounds on the rows of tags.
    return """
      FROM (SELECT seq AS tagged FROM \(tagTable) WHERE \(tagConditions.joined(separator: " AND ")))
      CROSS JOIN reports \(index) ON reports.seq = tagged \(clause)
      """
  }

  func arguments(_ more: [String: any DatabaseValueConvertible] = [:]) -> StatementArguments {
    StatementArguments(values.merging(more.mapValues { $0 }) { $1 })
  }

  private mutating func add(_ condition: String, _ name: String, _ value: any DatabaseValueConvertible) {
    conditions.append(condition)
    values[name] = value
  }
}

extension ReportFilter {
  /// Returns the SQL that tests whether a row of a table of tags contains the filter's tag with the given number.
  static func isTag(_ number: Int) -> String { "key = :tag\(number)_key AND value = :tag\(number)_value" }

  /// Returns the SQL that tests whether a report has the filter's tag with the given number.
  ///
  /// The parameter `sequence` is an SQL expression for the event number of the report.
  static func hasTag(_ number: Int, _ tag: Tag, of sequence: String) -> String {
    "EXISTS (SELECT 1 FROM \(tag.table) WHERE \(tag.table).seq = \(sequence) AND \(isTag(number)))"
  }

  static func arguments(ofTag number: Int, _ tag: Tag) -> [String: (any DatabaseValueConvertible)?] {
    ["tag\(number)_key": tag.key, "tag\(number)_value": tag.value]
  }
}

extension ReportFilter.Tag {
  /// The table that contains the tag.
  var table: String { isOfRequest ? ReportRow.requestTable : ReportRow.tagTable }
}

extension ReportFilter.Text {
  /// Returns the SQL condition for the filter's field, for a table with a column of the same name.
  func condition(of table: String = "") -> String {
    match == .whole ? "\(table)\(name) = :\(name)" : "instr(\(table)\(name), :\(name)) > 0"
  }
}

extension ReportFilter {
  /// Whether a list with this filter and the given visibility would contain `report`, which is not stored yet.
  public func includes(_ report: CrashReport, visibility: Visibility) -> Bool {
    let process = report.process
    if let uid = visibility.uid, uid != process.ownerKey { return false }
    if let pid, pid != process.pid { return false }
    let texts = wantedTexts.filter { !$0.field.match.isLookup }
    if texts.contains(where: { !$0.field.includes(report, $0.wanted) }) { return false }
    if wantedTags.contains(where: { !$0.isTag(of: report) }) { return false }
    if let group, !report.groups.contains(where: { $0.key.hasPrefix(group) }) { return false }
    if let since, report.time < since { return false }
    if let until, report.time > until { return false }
    return true
  }
}
