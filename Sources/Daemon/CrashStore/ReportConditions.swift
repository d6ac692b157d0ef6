public import CrashProtocol
public import CrashReport
import GRDB

/// A filter as SQL: only what is asked for stands in it, so that the order of an index serves the rest.
struct ReportConditions {
  private var conditions: [String] = []
  private var values: [String: (any DatabaseValueConvertible)?] = [:]

  init(_ filter: ReportFilter, _ visibility: Visibility) {
    if let uid = visibility.uid { add("uid = :uid", "uid", uid) }
    if let pid = filter.pid { add("pid = :pid", "pid", pid) }
    for (field, wanted) in filter.wantedTexts where field.match != .tag { add(field.condition(), field.name, wanted) }
    // Found by their ids, and these by the numbers that the index of the list has.
    add(filter.wantedTags) { "seq IN (SELECT seq FROM reports WHERE id IN (\($0)))" }
    // Keys are digits up to f: everything that begins with the prefix stands before the prefix and a g.
    // A report in which several threads crashed at once is in the group of each of them.
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

  var clause: String { conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ") }

  func arguments(_ more: [String: any DatabaseValueConvertible] = [:]) -> StatementArguments {
    StatementArguments(values.merging(more.mapValues { $0 }) { $1 })
  }

  private mutating func add(_ condition: String, _ name: String, _ value: any DatabaseValueConvertible) {
    conditions.append(condition)
    values[name] = value
  }
}

extension ReportConditions {
  private mutating func add(_ tags: [ReportFilter.Tag], _ condition: (String) -> String) {
    for (number, tag) in tags.enumerated() {
      conditions.append(condition(ReportFilter.idsOfTag(number)))
      values.merge(ReportFilter.arguments(ofTag: number, tag)) { $1 }
    }
  }
}

extension ReportFilter {
  /// The ids of the reports with a tag, as SQL.
  static func idsOfTag(_ number: Int) -> String {
    "SELECT id FROM report_tags WHERE key = :tag\(number)_key AND value = :tag\(number)_value"
  }

  static func arguments(ofTag number: Int, _ tag: Tag) -> [String: (any DatabaseValueConvertible)?] {
    ["tag\(number)_key": tag.key, "tag\(number)_value": tag.value]
  }
}

extension ReportFilter.Text {
  /// The same as SQL, of a table that has the column.
  func condition(of table: String = "") -> String {
    match == .whole ? "\(table)\(name) = :\(name)" : "instr(\(table)\(name), :\(name)) > 0"
  }
}

extension ReportFilter {
  /// Whether a list with this filter and visibility shows the report, which no row has yet.
  public func includes(_ report: CrashReport, visibility: Visibility) -> Bool {
    let process = report.process
    if let uid = visibility.uid, uid != process.ownerKey { return false }
    if let pid, pid != process.pid { return false }
    if wantedTexts.contains(where: { $0.field.match != .tag && !$0.field.includes(report, $0.wanted) }) { return false }
    let tags = report.tags
    if wantedTags.contains(where: { tags[$0.key] != $0.value }) { return false }
    if let group, !report.groups.contains(where: { $0.key.hasPrefix(group) }) { return false }
    if let since, report.time < since { return false }
    if let until, report.time > until { return false }
    return true
  }
}
