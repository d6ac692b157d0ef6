import CrashProtocol
import GRDB

/// A filter as SQL: only what is asked for stands in it, so that the order of an index serves the rest.
struct ReportConditions {
  private var conditions: [String] = []
  private var values: [String: (any DatabaseValueConvertible)?] = [:]

  init(_ filter: ReportFilter, _ visibility: Visibility) {
    if let uid = visibility.uid { add("uid = :uid", "uid", uid) }
    if let pid = filter.pid { add("pid = :pid", "pid", pid) }
    if let name = filter.name { add("instr(name, :name) > 0", "name", name) }
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
    if let unit = filter.unit { add("unit = :unit", "unit", unit) }
    if let signal = filter.signal { add("signal = :signal", "signal", signal) }
    if let executable = filter.executable { add("instr(executable, :executable) > 0", "executable", executable) }
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
