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
    for (field, wanted) in filter.wantedTexts { add(field.condition(), field.name, wanted) }
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
    if wantedTexts.contains(where: { !$0.field.includes(report, $0.wanted) }) { return false }
    if let group, !report.groups.contains(where: { $0.key.hasPrefix(group) }) { return false }
    if let since, report.time < since { return false }
    if let until, report.time > until { return false }
    return true
  }
}
