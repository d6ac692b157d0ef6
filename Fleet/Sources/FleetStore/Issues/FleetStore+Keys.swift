// Finds groups that have keys of two versions, and moves them to one issue.
//
// A new version of crashd can compute another key for the same crash. The fleet then inserts a new issue for the new
// key, because a batch has no time to compare reports. This code compares them later. docs/decisions/0151 has the rules.
extension FleetStore {
  /// A group that the service moved to the issue of the same group under a key of another version.
  public struct JoinedKey: Sendable, Equatable {
    /// The program.
    public var program: String
    /// The key of the moved group, and the version of the rules that made it.
    public var (key, version): (String, Int32)
    /// The issue that the group left, and the issue that it joined.
    public var (left, joined): (Int64, Int64)
  }

  /// The number of groups that one statement examines.
  private static let searchLimit: Int32 = 50

  /// Finds groups whose key has another version than an earlier key of the same crashes, and moves them to its issue.
  ///
  /// Only a group alone in a new issue moves, and only if no operator merged or split it. Several services can call this
  /// at the same time. A call that finds nothing changes no issue.
  /// - Parameter report: Receives each moved group after its commit.
  /// - Returns: The number of groups that match several issues, which an operator must merge.
  /// - Throws: `FleetError`; the groups that `report` has received are moved anyway.
  @discardableResult
  public func joinKeys(_ report: (JoinedKey) -> Void) async throws(FleetError) -> Int {
    var ambiguous = 0
    while true {
      let examined = try await retrying { connection throws(FleetError) in
        try connection.run(Self.chooseGroups, .int32(Self.searchLimit)).rows.map {
          Int32(truncatingIfNeeded: $0.integer(0))
        }
      }
      let matches = try await retrying { connection throws(FleetError) in
        try connection.run(Self.findMatches, .int32s(examined)).rows.map { row in
          Match(
            group: Int32(truncatingIfNeeded: row.integer(0)), other: Int32(truncatingIfNeeded: row.integer(1)),
            issues: row.integer(2))
        }
      }
      for match in matches {
        if match.issues > 1 { ambiguous += 1 } else if let joined = try await join(match) { report(joined) }
      }
      if examined.count < Self.searchLimit { return ambiguous }
    }
  }

  /// A group to move, a group of the issue that receives it, and the number of issues that match.
  private struct Match: Sendable {
    var (group, other): (Int32, Int32)
    var issues: Int64
  }

  /// Moves a group to the issue of another group.
  ///
  /// Returns nil if an operator or another service has changed one of them meanwhile.
  private func join(_ match: Match) async throws(FleetError) -> JoinedKey? {
    try await retrying { connection throws(FleetError) in
      try connection.transaction { () throws(FleetError) in
        // This mode also waits for merges, splits and other services, so the groups keep their issues from here on.
        try connection.script(Self.waitForIngest.replacing("in share mode", with: "in share row exclusive mode"))
        let parameters = Parameters.int32(match.group) + .int32(match.other)
        try connection.run(Self.lockIssues, parameters)
        guard let row = try connection.run(Self.moveGroup, parameters).rows.first else { return nil }
        let joined = JoinedKey(
          program: row.text(0), key: row.text(1), version: Int32(truncatingIfNeeded: row.integer(2)),
          left: row.integer(3), joined: row.integer(4))
        try connection.run(Self.addHistory, .int64(joined.left) + .int64(joined.joined) + .int32(match.group))
        try Self.sum(joined.left, connection)
        try Self.sum(joined.joined, connection)
        return joined
      }
    }
  }

  // A group is examined again whenever its age has grown by a quarter. A later report can show what the first ones did
  // not, and a group that has no other key costs less and less.
  private static let chooseGroups = Statement(
    name: "choose_groups",
    sql: """
      update alias set examined = now() where id in (
        select a.id from alias a join issue i on i.id = a.issue
        where i.state = 'new' and not a.pinned and a.joined is null
          and (a.examined is null or now() > a.examined + (a.examined - a.created) / 4)
          and (a.tenant, a.program) in (
            select tenant, program from alias group by tenant, program having min(version) < max(version))
          and not exists (select 1 from alias o where o.issue = a.issue and o.id <> a.id)
        order by a.examined nulls first, a.id limit $1::int for update of a skip locked)
      returning id
      """)

  // There are two proofs that two keys belong to the same group. A report moved from one key to the other, because crashd
  // analyzed it again. Or two reports of one build have the same exact key, which names the instructions of the crash.
  //
  // The examined group moves. If the other group could move as well, the later one of both does: by exact keys, it finds
  // the earlier one when it is examined itself.
  private static let findMatches = Statement(
    name: "find_matches",
    sql: """
      with seen as materialized (
        select a.id, a.tenant, a.program, a.version, a.issue, r.build, r.previous, report_exact_key(r.body) exact
        from alias a cross join lateral (
          select build, previous, body from report where alias = a.id
          order by least(time, received) desc, id desc limit 5) r
        where a.id = any($1::int[])),
      place as (
        select distinct s.tenant, s.program, s.version, s.build from seen s
        join build b on b.id = s.build and b.build <> ''),
      other as materialized (
        select o.id, o.version, o.build, report_exact_key(r.body) exact
        from (
          select distinct a.id, a.version, p.build from place p
          join alias a on a.tenant = p.tenant and a.program = p.program and a.version <> p.version) o
        cross join lateral (
          select newest.body from (
            select build, body from report where alias = o.id
            order by least(time, received) desc, id desc limit 50) newest
          where newest.build = o.build limit 3) r),
      proof as (
        select s.id, s.issue, o.id other, false is_move from seen s
        join other o on o.build = s.build and o.exact = s.exact and o.version <> s.version
        union
        select s.id, s.issue, a.id, true from seen s
        join alias a on a.id = s.previous and a.tenant = s.tenant and a.program = s.program and a.version <> s.version),
      pair as (
        select p.*, a.issue other_issue, a.issue > p.issue and i.state = 'new' and not a.pinned
          and a.joined is null and not exists (
            select 1 from alias o where o.issue = a.issue and o.id <> a.id) is_later
        from proof p join alias a on a.id = p.other join issue i on i.id = a.issue where a.issue <> p.issue)
      select mover, min(target), count(distinct issue) from (
        select case when is_later then other else id end mover, case when is_later then id else other end target,
          case when is_later then issue else other_issue end issue
        from pair where is_move or not is_later) move
      group by mover order by mover
      """)

  private static let lockIssues = Statement(
    name: "lock_issues_of_groups",
    sql: """
      select id from issue where id in (select issue from alias where id in ($1::int, $2::int))
      order by id for update
      """)

  private static let moveGroup = Statement(
    name: "move_group",
    sql: """
      update alias a set issue = o.issue, joined = o.id from alias o, issue i
      where a.id = $1::int and o.id = $2::int and i.id = a.issue and i.state = 'new' and not a.pinned
        and a.joined is null and a.issue <> o.issue and a.tenant = o.tenant and a.program = o.program
        and not exists (select 1 from alias c where c.issue = a.issue and c.id <> a.id)
      returning a.program, a.key, a.version, i.id, o.issue
      """)

  // The issue gets what it would have if all crashes had come under one key, also the regression by a later build.
  private static let addHistory = Statement(
    name: "add_history",
    sql: """
      with build as (select max(build) newest from alias_hour where alias = $3::int and crashes > 0)
      update issue i set
        first_seen = least(i.first_seen, o.first_seen), last_seen = greatest(i.last_seen, o.last_seen),
        first_build = least(i.first_build, o.first_build),
        regressed = case when i.state = 'resolved' and build.newest > i.resolved_build then now() else i.regressed end,
        state = case when i.state = 'resolved' and build.newest > i.resolved_build then 'regressed' else i.state end
      from issue o, build where o.id = $1::bigint and i.id = $2::bigint
      """)
}
