import CrashProtocol
import GRDB

/// Builds the SQL conditions of a query on the tables of groups: `group_reports` (stored reports), `group_past` (counts
/// of removed reports) and `group_totals` (sums).
///
/// The SQL contains conditions only for fields that the filter sets. SQLite can then use an index for the order of the
/// rows.
struct GroupRestriction {
  private var conditions: [String] = []
  /// The conditions for the table `group_past`.
  ///
  /// Each row of `group_past` covers one hour. A row matches even if only a part of its hour is in the requested
  /// period.
  private var pastConditions: [String] = []
  /// The conditions for the table `group_totals`; only usable if `isOfWholeGroups` is true.
  private var totalsConditions: [String] = []
  private var values: [String: (any DatabaseValueConvertible)?] = [:]
  /// Whether the sums of whole groups are sufficient to find the matching groups and to order them by their last crash.
  private(set) var isOfWholeGroups = true
  /// Whether the filter matches, for every group, either all reports or no report.
  private(set) var hasWholeGroups = true

  /// Returns nil if no report can match the filter.
  ///
  /// For example, no report matches a group prefix that contains other characters than lower-case hexadecimal digits.
  init?(_ filter: ReportFilter, _ visibility: Visibility) {
    isOfWholeGroups = filter.isOfWholeGroups
    hasWholeGroups = filter.isOfWholeGroups && filter.since == nil
    if let uid = visibility.uid { add("uid = :uid", "uid", uid) }
    let texts = filter.wantedTexts
    for (field, wanted) in texts where Self.columns.contains(field.name) { add(field.condition(), field.name, wanted) }
    if let since = filter.since {
      add("time >= :since", "since", since, past: "last >= :since", totals: "last >= :since")
    }
    if let until = filter.until { add("time <= :until", "until", until, past: "first <= :until") }
    // Each of the following conditions looks up a row's report in the table `reports`. The look-ups are fast enough,
    // because the condition on the group key usually leaves only a few rows.
    if let pid = filter.pid { add(Self.ofReport("reports.pid = :pid"), "pid", pid, past: "FALSE") }
    for (field, wanted) in texts where !field.match.isLookup && !Self.columns.contains(field.name) {
      add(Self.ofReport(field.condition(of: "reports.")), field.name, wanted, past: "FALSE")
    }
    for (number, tag) in filter.wantedTags.enumerated() {
      add(ReportFilter.hasTag(number, tag, of: "group_reports.seq"), "tag\(number)_key", tag.key, past: "FALSE")
      values.merge(ReportFilter.arguments(ofTag: number, tag)) { $1 }
    }
    guard let group = filter.group, !group.isEmpty else { return }
    guard ReportStore.isKeyPrefix(group) else { return nil }
    // The greatest hexadecimal digit is f. Therefore, in sort order, every key with the prefix is before the string
    // that consists of the prefix and g.
    add("group_key >= :group AND group_key < :group || 'g'", "group", group)
  }

  /// The string fields of the filter that are also columns in the tables of groups.
  private static let columns: Set = ["name", "executable"]

  private static func ofReport(_ condition: String) -> String {
    "EXISTS (SELECT 1 FROM reports WHERE reports.id = group_reports.id AND \(condition))"
  }

  var clause: String { conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ") }
  var totalsClause: String { totalsConditions.isEmpty ? "" : "WHERE " + totalsConditions.joined(separator: " AND ") }
  var pastClause: String { pastConditions.isEmpty ? "" : "WHERE " + pastConditions.joined(separator: " AND ") }

  func arguments(_ more: [String: any DatabaseValueConvertible]) -> StatementArguments {
    StatementArguments(values.merging(more.mapValues { $0 }) { $1 })
  }

  func narrowed(to key: String, _ uid: Int64) -> GroupRestriction {
    var narrow = self
    narrow.add("group_key = :own_key AND uid = :own_uid", "own_key", key)
    narrow.values["own_uid"] = uid
    return narrow
  }

  private mutating func add(
    _ condition: String, _ name: String, _ value: any DatabaseValueConvertible, past: String? = nil,
    totals: String? = nil
  ) {
    totalsConditions.append(totals ?? condition)
    conditions.append(condition)
    pastConditions.append(past ?? condition)
    values[name] = value
  }
}

extension ReportFilter {
  /// Whether the time of a group's last crash is sufficient to decide whether the group matches.
  fileprivate var isOfWholeGroups: Bool {
    pid == nil && wantedTexts.isEmpty && tags == nil && until == nil
  }
}
