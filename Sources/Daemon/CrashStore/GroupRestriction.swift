import CrashProtocol
import GRDB

/// The restriction of a query on `group_reports`, as SQL conditions.
///
/// The SQL contains only the conditions that the filter sets, so that SQLite can use the order of the tables.
struct GroupRestriction {
  private var conditions: [String] = []
  /// The restrictions for `group_past`, whose rows are hours.
  ///
  /// An hour that is partly within the period counts.
  private var pastConditions: [String] = []
  /// The restrictions for `group_totals`, as far as its columns allow.
  private var totalsConditions: [String] = []
  private var values: [String: (any DatabaseValueConvertible)?] = [:]
  /// Whether the sums of whole groups decide which groups match and in which order.
  private(set) var isOfWholeGroups = true
  /// Whether every report of a matching group matches.
  private(set) var hasWholeGroups = true

  /// Returns nil if no report can match, because group keys consist of lower-case hexadecimal digits.
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
    // Each of these conditions looks up the report of a row. The group key has usually selected a few rows before.
    if let pid = filter.pid { add(Self.ofReport("reports.pid = :pid"), "pid", pid, past: "FALSE") }
    for (field, wanted) in texts where field.match != .tag && !Self.columns.contains(field.name) {
      add(Self.ofReport(field.condition(of: "reports.")), field.name, wanted, past: "FALSE")
    }
    for (number, tag) in filter.wantedTags.enumerated() {
      add(ReportFilter.hasTag(number, of: "group_reports.seq"), "tag\(number)_key", tag.key, past: "FALSE")
      values.merge(ReportFilter.arguments(ofTag: number, tag)) { $1 }
    }
    guard let group = filter.group, !group.isEmpty else { return }
    guard ReportStore.isKeyPrefix(group) else { return nil }
    // The last digit is f. Every key with the prefix therefore sorts before the prefix followed by g.
    add("group_key >= :group AND group_key < :group || 'g'", "group", group)
  }

  /// The text fields that the group tables have as columns.
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
  /// Whether the last occurrence alone decides that a group matches.
  fileprivate var isOfWholeGroups: Bool {
    pid == nil && wantedTexts.isEmpty && tags == nil && until == nil
  }
}
