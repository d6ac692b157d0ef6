import CrashProtocol

/// Selects and orders the groups for a list in SQL, as far as the tables allow this.
struct GroupSelection {
  var order = GroupQuery.Order.last
  /// The states of the groups to return; nil means all states.
  var states: Set<GroupQuery.State>?

  /// Whether the builds of a program are needed to decide if a group has one of the requested states.
  ///
  /// If so, SQL alone cannot select the groups, and the store reads each possible group.
  var needsBuilds: Bool { states.map { $0.contains(.new) != $0.contains(.open) } ?? false }

  /// Whether a group in the given state was requested.
  func includes(_ state: String) -> Bool {
    guard let states else { return true }
    return GroupQuery.State(rawValue: state).map(states.contains) ?? false
  }

  /// Returns the SQL that finds all groups that possibly match, in the requested order.
  ///
  /// The columns of the result are the key, the user and, if the filter matches whole groups, the count.
  func sql(_ wanted: GroupRestriction) -> String {
    "SELECT key, uid\(wanted.hasWholeGroups ? ", count" : "") FROM (\(sums(wanted))) AS found \(condition) ORDER BY \(ordering)"
  }

  private func sums(_ wanted: GroupRestriction) -> String {
    if wanted.hasWholeGroups {
      let isGroup = "group_key = totals.group_key AND uid = totals.uid"
      return """
        SELECT group_key AS key, uid, last, count, min(
          ifnull((SELECT min(time) FROM group_reports WHERE \(isGroup)), last),
          ifnull((SELECT min(first) FROM group_past WHERE \(isGroup)), last)) AS first
        FROM group_totals AS totals \(wanted.totalsClause)
        """
    }
    return """
      SELECT group_key AS key, uid, max(last) AS last, min(first) AS first, sum(count) AS count FROM (
        SELECT group_key, uid, max(time) AS last, min(time) AS first, count(*) AS count FROM group_reports
          \(wanted.clause) GROUP BY group_key, uid
        UNION ALL
        SELECT group_key, uid, max(last), min(first), sum(count) FROM group_past \(wanted.pastClause)
          GROUP BY group_key, uid)
      GROUP BY group_key, uid
      """
  }

  private var condition: String {
    guard let states else { return "" }
    let resolved = "(SELECT resolved_time FROM group_states WHERE group_key = found.key AND uid = found.uid)"
    var parts: [String] = []
    if states.contains(.resolved) { parts.append("last <= \(resolved)") }
    if states.contains(.regressed) { parts.append("last > \(resolved)") }
    if states.contains(.new) || states.contains(.open) { parts.append("\(resolved) IS NULL") }
    return "WHERE " + (parts.isEmpty ? "FALSE" : parts.joined(separator: " OR "))
  }

  private var ordering: String {
    switch order {
    case .last: "last DESC, key, uid"
    case .first: "first DESC, last DESC, key, uid"
    case .count: "count DESC, last DESC, key, uid"
    }
  }
}
