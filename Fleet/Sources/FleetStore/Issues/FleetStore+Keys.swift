// Finds groups that have keys of two versions, and moves them to one issue.
//
// A new version of crashd can compute another key for the same crash. The fleet then inserts a new issue for the new
// key, because a batch has no time to compare reports. This code compares them later. docs/decisions/0151 has the
// rules.
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

  /// The number of groups that one transaction examines.
  private static let examinedAtOnce: Int32 = 50
  /// The maximum number of these transactions in one call.
  ///
  /// The number is limited, because hosts can name new builds and groups without end.
  private static let examinations = 20
  /// The number of groups that one call moves.
  ///
  /// Each move stops the batches of all tenants for a moment.
  private static let joinedAtOnce = 50

  /// Finds groups whose crashes are also in another group with a key of another version.
  ///
  /// Moves such a group to the issue of the other group, if exactly one issue matches. If both groups can move, the
  /// group of the later issue moves.
  ///
  /// A group moves only if it is alone in an issue with the state `new`, and no operator merged or split it. Several
  /// services can call this at the same time. A call that finds nothing changes no issue.
  /// - Parameter report: Receives each moved group after its commit.
  /// - Returns: The number of groups that match several issues, which an operator must merge.
  /// - Throws: `FleetError`; the groups that `report` has received are moved anyway.
  @discardableResult
  public func joinKeys(_ report: (JoinedKey) -> Void) async throws(FleetError) -> Int {
    for _ in 0..<Self.examinations { if try await examine() < Self.examinedAtOnce { break } }
    let matches = try await retrying { connection throws(FleetError) in
      try connection.run(Self.findMatches).rows.map { row in
        Match(
          group: Int32(truncatingIfNeeded: row.integer(0)), other: Int32(truncatingIfNeeded: row.integer(1)),
          issues: row.integer(2))
      }
    }
    var certain = matches.filter { $0.issues == 1 }
    // Choose at random, so that moves that fail each time do not keep the others waiting.
    if certain.count > Self.joinedAtOnce { certain.shuffle() }
    var failure: FleetError?
    for match in certain.prefix(Self.joinedAtOnce) {
      do throws(FleetError) { if let joined = try await join(match) { report(joined) } } catch { failure = error }
    }
    if let failure { throw failure }
    return matches.count { $0.issues > 1 }
  }

  /// A group to move, a group of the issue that receives it, and the number of issues that match.
  private struct Match: Sendable {
    var (group, other): (Int32, Int32)
    var issues: Int64
  }

  /// Collects the evidence in the newest reports of some groups, and returns the number of these groups.
  private func examine() async throws(FleetError) -> Int {
    try await retrying { connection throws(FleetError) in
      try connection.transaction { () throws(FleetError) in
        let groups = try connection.run(Self.chooseGroups, .int32(Self.examinedAtOnce)).rows.map {
          Int32(truncatingIfNeeded: $0.integer(0))
        }
        if groups.isEmpty { return 0 }
        try connection.run(Self.collectExactKeys, .int32s(groups))
        try connection.run(Self.collectMoves, .int32s(groups))
        return groups.count
      }
    }
  }

  /// Moves a group to the issue of another group.
  ///
  /// Returns nil if an operator or another service has changed the group or the issue meanwhile. The next call of
  /// `joinKeys(_:)` repeats a move that failed.
  private func join(_ match: Match) async throws(FleetError) -> JoinedKey? {
    try await run { connection throws(FleetError) in
      try connection.transaction { () throws(FleetError) in
        // This lock mode also waits for merges, splits and other services, so the groups keep their issues from here
        // on.
        try connection.script(Self.waitForIngest.replacing("in share mode", with: "in share row exclusive mode"))
        try connection.script("set local statement_timeout = '2s'")
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

  // A group is examined again when it has crashed in a new build, and whenever its age has grown by a quarter, at most
  // once a minute. A later report can prove what the first ones did not, and an old group costs little.
  private static let chooseGroups = Statement(
    name: "choose_groups",
    sql: """
      update alias set examined = now(), examined_build = due.last_build
      from (
        select a.id, i.last_build from alias a join issue i on i.id = a.issue
        where (a.tenant, a.program) in (
            select tenant, program from alias group by tenant, program having min(version) < max(version))
          and (a.examined is null or a.examined_build is distinct from i.last_build
            or now() > a.examined + greatest(interval '1 minute', (a.examined - a.created) / 4))
        order by a.examined nulls first, a.id limit $1::int for update of a skip locked) due
      where alias.id = due.id returning alias.id
      """)

  // Reports of programs without a build id get no exact key. Neither do bodies above 128 KiB, because computing the key
  // could exceed the statement timeout.
  private static let collectExactKeys = Statement(
    name: "collect_exact_keys",
    sql: """
      insert into alias_exact (alias, build, exact)
      select distinct a.id, r.build, r.exact from unnest($1::int[]) a (id)
      cross join lateral (
        select build, case when octet_length(body) <= 131072 then report_exact_key(body) end exact from (
          select build, body from report where alias = a.id
          order by least(time, received) desc, id desc limit 20) newest
        -- Otherwise the server would compute each key twice.
        offset 0) r
      join build b on b.id = r.build and b.build <> ''
      where length(r.exact) <= 64 and (select count(*) from alias_exact e where e.alias = a.id) < 200
      on conflict do nothing
      """)

  private static let collectMoves = Statement(
    name: "collect_moves",
    sql: """
      insert into alias_move (alias, previous)
      select distinct a.id, r.previous from unnest($1::int[]) a (id)
      cross join lateral (
        select previous from report where alias = a.id order by least(time, received) desc, id desc limit 20) r
      where r.previous <> a.id and (select count(*) from alias_move m where m.alias = a.id) < 20
      on conflict do nothing
      """)

  // There are two proofs that two keys belong to the same crashes. Reports of one build have the same exact key, which
  // names the instructions of the crash. Or a report moved from one key to the other, because crashd analyzed it again.
  // If both groups can move, the one of the later issue moves.
  private static let findMatches = Statement(
    name: "find_matches",
    sql: """
      with movable as materialized (
        select a.id, a.tenant, a.program, a.version, a.issue from alias a join issue i on i.id = a.issue
        where (a.tenant, a.program) in (
            select tenant, program from alias group by tenant, program having min(version) < max(version))
          and i.state = 'new' and not a.pinned and a.joined is null
          and not exists (select 1 from alias o where o.issue = a.issue and o.id <> a.id)),
      shared_key as materialized (
        -- A key of many groups proves nothing, and its pairs would be too many.
        select build, exact from alias_exact group by build, exact having count(*) between 2 and 20),
      proof as (
        select m.id, f.alias other from movable m join alias_exact e on e.alias = m.id
        join shared_key k on k.build = e.build and k.exact = e.exact
        join alias_exact f on f.build = e.build and f.exact = e.exact and f.alias <> m.id
        union select m.id, v.previous from movable m join alias_move v on v.alias = m.id
        union select m.id, v.alias from movable m join alias_move v on v.previous = m.id)
      select m.id, min(o.id), count(distinct o.issue) from movable m
      join proof p on p.id = m.id
      join alias o on o.id = p.other and o.tenant = m.tenant and o.program = m.program and o.version <> m.version
      left join movable later on later.id = o.id and later.issue > m.issue
      where o.issue <> m.issue and later.id is null group by m.id order by m.id
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

  // The receiving issue gets the times and the state that it would have if all crashes had come under one key. This
  // includes the state `regressed` after a crash of a later build.
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
