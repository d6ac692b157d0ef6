/// The changes that a batch makes to the counters, and to the issues of these counters.
struct CounterDeltas: Sendable {
  struct Row: Hashable, Comparable, Sendable {
    var alias: Int32
    var host: Int32
    var build: Int32
    /// In hours since 1970.
    var hour: Int64
    /// The number that identifies a forwarder's counter (`IncomingCount.run`), or 0 for crashes whose whole reports are
    /// stored.
    var run: Int64

    /// The order of the primary key.
    ///
    /// All transactions lock rows in this order.
    static func < (left: Row, right: Row) -> Bool {
      (left.alias, left.host, left.build, left.hour, left.run)
        < (right.alias, right.host, right.build, right.hour, right.run)
    }
  }

  private var rows: [Row: Int64] = [:]

  /// Changes the number of crashes whose whole reports are stored.
  mutating func add(_ delta: Int64, _ row: Row) { rows[row, default: 0] += delta }

  /// Sets a forwarder's counter, unless the counter is already higher.
  mutating func set(_ crashes: Int64, _ row: Row) { rows[row] = max(rows[row] ?? 0, crashes) }

  func store(_ connection: Connection) throws(FleetError) {
    // Skip a sum of 0, for example of a report that moved to another group and back.
    let sorted = rows.filter { $0.key.run != 0 || $0.value != 0 }.sorted { $0.key < $1.key }
    if sorted.isEmpty { return }
    let keys = sorted.map(\.key)
    let parameters: Parameters =
      .int32s(keys.map(\.alias)) + .int32s(keys.map(\.host)) + .int32s(keys.map(\.build)) + .int64s(keys.map(\.hour))
      + .int64s(keys.map(\.run)) + .int64s(sorted.map(\.value))
    var sums = Sums()
    for row in try connection.run(Self.upsert, parameters).rows { sums.add(row) }
    try sums.store(connection)
  }

  // The column `previous` keeps the value before the update, because RETURNING has only new values.
  private static let upsert = Statement(
    name: "set_counters",
    sql: """
      insert into counter (alias, host, build, hour, run, crashes)
      select alias, host, build, timestamptz 'epoch' + hour * interval '1 hour', run, crashes
      from unnest($1::int[], $2::int[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[])
        i (alias, host, build, hour, run, crashes)
      order by alias, host, build, hour, run
      on conflict (alias, host, build, hour, run) do update set
        previous = counter.crashes,
        crashes = case when excluded.run = 0 then counter.crashes + excluded.crashes
          else greatest(counter.crashes, excluded.crashes) end
      returning alias, host, build, extract(epoch from hour)::bigint / 3600, crashes - coalesce(previous, 0),
        previous is null
      """)
}

extension CounterDeltas {
  /// The changes of the counters, summed for the tables of issues.
  private struct Sums {
    struct Hour: Hashable {
      var alias: Int32
      var hour: Int64
      var build: Int32
    }
    struct Pair: Hashable {
      var alias: Int32
      var host: Int32
    }

    private var hours: [Hour: Int64] = [:]
    private var pairs: [Pair: Int64] = [:]

    mutating func add(_ row: [String?]) {
      let (alias, host) = (Int32(truncatingIfNeeded: row.integer(0)), Int32(truncatingIfNeeded: row.integer(1)))
      let key = Hour(alias: alias, hour: row.integer(3), build: Int32(truncatingIfNeeded: row.integer(2)))
      hours[key, default: 0] += row.integer(4)
      pairs[Pair(alias: alias, host: host), default: 0] += row.integer(4)
    }

    func store(_ connection: Connection) throws(FleetError) {
      let changed = hours.filter { $0.value != 0 }.sorted {
        ($0.key.alias, $0.key.hour, $0.key.build) < ($1.key.alias, $1.key.hour, $1.key.build)
      }
      // The counts of hosts can change alone, for example if two reports of different hosts swap their groups.
      let hostCounts = pairs.filter { $0.value != 0 }.sorted {
        ($0.key.alias, $0.key.host) < ($1.key.alias, $1.key.host)
      }
      if changed.isEmpty, hostCounts.isEmpty { return }
      let keys = changed.map(\.key)
      let deltas: Parameters =
        .int32s(keys.map(\.alias)) + .int64s(keys.map(\.hour)) + .int32s(keys.map(\.build))
        + .int64s(changed.map(\.value))
      for statement in [Self.addHours, Self.addHourSums, Self.addBuilds, Self.addProgramHours] {
        try connection.run(statement, deltas)
      }
      let counts: Parameters =
        .int32s(hostCounts.map(\.key.alias)) + .int32s(hostCounts.map(\.key.host)) + .int64s(hostCounts.map(\.value))
      var hosts: [Int32: Int64] = [:]
      for row in try connection.run(Self.addHosts, counts).rows where row.flag(1) {
        hosts[Int32(truncatingIfNeeded: row.integer(0)), default: 0] += 1
      }
      var issues: [Int32: (crashes: Int64, build: Int32)] = hosts.mapValues { _ in (0, 0) }
      for (key, delta) in changed {
        let known = issues[key.alias] ?? (0, 0)
        // Only a build with additional crashes reopens an issue.
        issues[key.alias] = (known.crashes + delta, delta > 0 ? max(known.build, key.build) : known.build)
      }
      let aliases = issues.keys.sorted()
      try connection.run(
        Self.addToIssues,
        .int32s(aliases) + .int64s(aliases.map { issues[$0]?.crashes ?? 0 })
          + .int64s(aliases.map { hosts[$0] ?? 0 }) + .int32s(aliases.map { issues[$0]?.build ?? 0 }))
    }

    private static let addHours = Statement(
      name: "add_hours",
      sql: """
        insert into alias_hour (alias, hour, build, crashes)
        select alias, timestamptz 'epoch' + hour * interval '1 hour', build, crashes
        from unnest($1::int[], $2::bigint[], $3::int[], $4::bigint[]) i (alias, hour, build, crashes)
        order by alias, hour, build
        on conflict (alias, hour, build) do update set crashes = alias_hour.crashes + excluded.crashes
        """)

    private static let addHourSums = Statement(
      name: "add_hour_sums",
      sql: """
        insert into alias_hour_sum (alias, hour, crashes)
        select alias, timestamptz 'epoch' + hour * interval '1 hour', sum(crashes)
        from unnest($1::int[], $2::bigint[], $3::int[], $4::bigint[]) i (alias, hour, build, crashes)
        group by alias, hour order by alias, hour
        on conflict (alias, hour) do update set crashes = alias_hour_sum.crashes + excluded.crashes
        """)

    private static let addBuilds = Statement(
      name: "add_builds_of_alias",
      sql: """
        insert into alias_build (alias, build, crashes, first_hour, last_hour)
        select alias, build, sum(crashes), timestamptz 'epoch' + min(hour) * interval '1 hour',
          timestamptz 'epoch' + max(hour) * interval '1 hour'
        from unnest($1::int[], $2::bigint[], $3::int[], $4::bigint[]) i (alias, hour, build, crashes)
        group by alias, build order by alias, build
        on conflict (alias, build) do update set
          crashes = alias_build.crashes + excluded.crashes,
          first_hour = least(alias_build.first_hour, excluded.first_hour),
          last_hour = greatest(alias_build.last_hour, excluded.last_hour)
        """)

    // A program has one row for each hour and slot. The slot is one of 16 numbers, by the connection, so that few
    // batches wait for the same row.
    private static let addProgramHours = Statement(
      name: "add_program_hours",
      sql: """
        insert into program_hour (tenant, program, hour, slot, crashes)
        select a.tenant, a.program, timestamptz 'epoch' + i.hour * interval '1 hour', pg_backend_pid() % 16,
          sum(i.crashes)
        from unnest($1::int[], $2::bigint[], $3::int[], $4::bigint[]) i (alias, hour, build, crashes)
        join alias a on a.id = i.alias
        group by a.tenant, a.program, i.hour order by a.tenant, i.hour, a.program
        on conflict (tenant, hour, program, slot) do update set crashes = program_hour.crashes + excluded.crashes
        """)

    // The system column `xmax` is 0 in a row that the statement inserted.
    private static let addHosts = Statement(
      name: "add_alias_hosts",
      sql: """
        insert into alias_host (alias, host, crashes)
        select alias, host, crashes from unnest($1::int[], $2::int[], $3::bigint[]) i (alias, host, crashes)
        order by alias, host
        on conflict (alias, host) do update set crashes = alias_host.crashes + excluded.crashes
        returning alias, xmax = 0
        """)

    // A resolved issue becomes regressed only by a crash of a build that the fleet first saw after the build in which
    // the issue was resolved.
    private static let addToIssues = Statement(
      name: "add_to_issues",
      sql: """
        with changed as (
          select a.issue, sum(i.crashes) crashes, sum(i.hosts) hosts, max(i.build) build
          from unnest($1::int[], $2::bigint[], $3::bigint[], $4::int[]) i (alias, crashes, hosts, build)
          join alias a on a.id = i.alias group by a.issue),
        locked as materialized (
          select id from issue where id in (select issue from changed) order by id for update)
        update issue set
          crashes = issue.crashes + changed.crashes, hosts = issue.hosts + changed.hosts, last_seen = now(),
          first_build = coalesce(issue.first_build, nullif(changed.build, 0)),
          last_build = greatest(issue.last_build, nullif(changed.build, 0)),
          regressed = case when issue.state = 'resolved' and changed.build > issue.resolved_build then now()
            else issue.regressed end,
          state = case when issue.state = 'resolved' and changed.build > issue.resolved_build then 'regressed'
            else issue.state end
        from locked join changed on changed.issue = locked.id where issue.id = locked.id
        """)
  }
}
