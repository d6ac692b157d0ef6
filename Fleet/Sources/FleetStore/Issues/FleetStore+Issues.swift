// Changes issues on an operator's request.
extension FleetStore {
  /// One issue, as operators see it.
  public struct Issue: Sendable, Equatable {
    /// The number of the issue.
    public var id: Int64
    /// The program.
    public var program: String
    /// The title.
    public var title: String
    /// `new`, `open`, `resolved`, `regressed` or `muted`.
    public var state: String
    /// The number of crashes.
    public var crashes: Int64
    /// The number of hosts.
    public var hosts: Int64
  }

  /// What an operator can do with an issue.
  public enum IssueChange: String, Sendable, CaseIterable {
    /// Marks the issue as known.
    case open
    /// Marks the issue as resolved in the newest build of its program.
    case resolve
    /// Mutes the issue: it keeps counting crashes, and never becomes regressed.
    case mute
  }

  /// Returns the issues that have crashes, the one with the newest crash first.
  public func issues(tenant: Int32, limit: Int32 = 100) async throws(FleetError) -> [Issue] {
    let rows = try await retrying { connection throws(FleetError) in
      try connection.run(
        Statement(
          name: "list_issues",
          sql: """
            select id, program, title, state, crashes, hosts from issue where tenant = $1::int and crashes > 0
            order by last_seen desc, id desc limit $2::int
            """), .int32(tenant) + .int32(limit))
    }
    return rows.rows.map { row in
      Issue(
        id: row.integer(0), program: row.text(1), title: row.text(2), state: row.text(3), crashes: row.integer(4),
        hosts: row.integer(5))
    }
  }

  /// Changes the state of an issue.
  ///
  /// Returns false if the tenant has no such issue.
  public func change(issue: Int64, tenant: Int32, _ change: IssueChange) async throws(FleetError) -> Bool {
    let state =
      switch change {
      case .open: "open"
      case .resolve: "resolved"
      case .mute: "muted"
      }
    return try await retrying { connection throws(FleetError) in
      try connection.run(
        Statement(
          name: "change_issue",
          sql: """
            update issue set state = $3::text, resolved_build = case when $3::text = 'resolved' then (
              select max(b.id) from build b where b.tenant = issue.tenant and b.program = issue.program) end
            where tenant = $1::int and id = $2::bigint returning id
            """), .int32(tenant) + .int64(issue) + .text(state)
      ).first != nil
    }
  }

  /// Moves all groups of `issue` to `other`.
  ///
  /// Returns false if the tenant lacks one of the issues, or if the programs of the issues differ.
  ///
  /// `issue` keeps its number, but has no crashes. The groups of both issues stay where the operator put them:
  /// `joinKeys()` moves none of them.
  public func merge(issue: Int64, into other: Int64, tenant: Int32) async throws(FleetError) -> Bool {
    if issue == other { return false }
    return try await retrying { connection throws(FleetError) in
      try connection.transaction { () throws(FleetError) in
        try connection.script(Self.waitForIngest)
        let found = try connection.run(
          Statement(
            name: "lock_issues",
            sql: """
              select program from issue where tenant = $1::int and id in ($2::bigint, $3::bigint) order by id for update
              """), .int32(tenant) + .int64(issue) + .int64(other))
        guard found.rows.count == 2, found.rows[0].text(0) == found.rows[1].text(0) else { return false }
        try connection.run(
          Statement(
            name: "merge_alias",
            sql: """
              update alias set issue = $2::bigint, pinned = true where issue in ($1::bigint, $2::bigint)
              """), .int64(issue) + .int64(other))
        try Self.sum(issue, connection)
        try Self.sum(other, connection)
        return true
      }
    }
  }

  /// Moves one group to a new issue, and returns the number of this issue.
  ///
  /// Returns nil if the issue does not contain the group, or contains only this group. `joinKeys()` moves neither this
  /// group nor those that stay.
  public func split(key: String, from issue: Int64, tenant: Int32) async throws(FleetError) -> Int64? {
    try await retrying { connection throws(FleetError) in
      try connection.transaction { () throws(FleetError) in
        try connection.script(Self.waitForIngest)
        let rows = try connection.run(
          Statement(
            name: "split_alias",
            sql: """
              with target as (
                select i.*, nextval(pg_get_serial_sequence('issue', 'id')) number from issue i
                where i.tenant = $1::int and i.id = $2::bigint
                  and exists (select 1 from alias where issue = i.id and key = $3::text)
                  and exists (select 1 from alias where issue = i.id and key <> $3::text) for update),
              added as (
                insert into issue (id, tenant, program, title, cause, signal, coarse, state, first_seen, first_build)
                overriding system value
                select number, tenant, program, title, cause, signal, coarse, 'open', first_seen, first_build from target)
              update alias set
                pinned = true, issue = case when alias.key = $3::text then target.number else alias.issue end
              from target where alias.issue = target.id returning alias.issue
              """), .int32(tenant) + .int64(issue) + .text(key))
        let numbers = rows.rows.map { $0.integer(0) }
        guard let number = numbers.first(where: { $0 != issue }) else { return nil }
        try Self.sum(number, connection)
        try Self.sum(issue, connection)
        return number
      }
    }
  }

  /// Waits for running batches, and stops further ones until the end of the transaction.
  ///
  /// A batch reads which issue a group belongs to, and then waits for the lock of that issue's row. If the group moved
  /// during the wait, the crashes would be added to the old issue. Every batch writes `alias_hour` before it reads the
  /// issues. `only` locks just the parent table. The lock therefore does not wait for a vacuum, which locks only
  /// partitions.
  ///
  /// All tenants wait, because the lock is for the whole table. The two timeouts release the lock if this program or
  /// its connection stops, or if an issue is too large.
  static let waitForIngest = """
    set local idle_in_transaction_session_timeout = '5s'; set local statement_timeout = '10s';
    lock table only alias_hour in share mode
    """

  /// Computes the sums of an issue from those of its groups, which retention does not change.
  ///
  /// Precondition: the transaction has locked the issue's row.
  static func sum(_ issue: Int64, _ connection: Connection) throws(FleetError) {
    try connection.run(
      Statement(
        name: "sum_issue",
        sql: """
          update issue set
            crashes = coalesce((select sum(t.crashes) from alias a join alias_build t on t.alias = a.id
              where a.issue = $1::bigint), 0),
            hosts = (select count(distinct h.host) from alias a join alias_host h on h.alias = a.id
              where a.issue = $1::bigint),
            last_build = (select max(h.build) from alias a join alias_hour h on h.alias = a.id
              where a.issue = $1::bigint)
          where id = $1::bigint
          """), .int64(issue))
  }
}
