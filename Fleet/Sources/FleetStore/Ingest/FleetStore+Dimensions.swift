internal import Synchronization

// Looks up the primary keys of hosts, builds and groups, and inserts the missing rows.
//
// Separate transactions do this before the transaction of the batch, so that rows that many batches share are locked
// only briefly. If the batch then fails, an issue without crashes remains. No list shows such an issue.
extension FleetStore {
  /// Empties the cache.
  func forgetDimensions() { dimensions.withLock { $0 = Dimensions() } }

  /// Removes the primary keys of a batch from the cache, because the database lacks some of them; other tenants keep
  /// theirs.
  func forget(_ batch: BatchDimensions) { dimensions.withLock { $0.remove(batch) } }

  func dimensions(of items: [IngestItem], tenant: Int32) async throws(FleetError) -> BatchDimensions {
    var found = BatchDimensions(tenant: tenant)
    var hosts: [UInt128: IncomingHost] = [:]
    var builds: [IncomingBuild: String?] = [:]
    var groups: [Dimensions.AliasKey: IncomingGroup] = [:]
    dimensions.withLock { known in
      func need(_ host: IncomingHost) {
        if let id = known.hosts[.init(tenant: tenant, machine: host.machine)] {
          found.hosts[host.machine] = id
        } else {
          hosts[host.machine] = host
        }
      }
      func need(_ build: IncomingBuild, release: String?) {
        if let id = known.builds[.init(tenant: tenant, build: build)] {
          found.builds[build] = id
        } else {
          builds.updateValue(release, forKey: build)
        }
      }
      func need(_ group: IncomingGroup, of build: IncomingBuild) {
        let key = Dimensions.AliasKey(tenant: tenant, program: build.program, key: group.key)
        if let id = known.aliases[key] { found.aliases[key] = id } else { groups[key] = group }
      }
      for item in items {
        switch item {
        case .report(let report):
          need(report.host)
          need(report.build, release: report.release)
          need(report.group, of: report.build)
        case .count(let count):
          need(count.host)
          need(count.build, release: nil)
          need(count.group, of: count.build)
        case .position(let position): need(position.host)
        case .answer(let answer): need(answer.host)
        }
      }
    }
    if hosts.isEmpty, builds.isEmpty, groups.isEmpty { return found }
    let (missingHosts, missingBuilds, missingGroups) = (hosts, builds, groups)
    let added = try await retrying { connection throws(FleetError) in
      var added = BatchDimensions(tenant: tenant)
      try Self.add(missingHosts, to: &added, connection)
      try Self.add(missingBuilds, to: &added, connection)
      try Self.add(missingGroups, to: &added, connection)
      return added
    }
    dimensions.withLock { known in
      for (machine, id) in added.hosts { known.add(id, host: .init(tenant: tenant, machine: machine)) }
      for (build, id) in added.builds { known.add(id, build: .init(tenant: tenant, build: build)) }
      for (key, id) in added.aliases { known.add(id, alias: key) }
    }
    found.hosts.merge(added.hosts) { $1 }
    found.builds.merge(added.builds) { $1 }
    found.aliases.merge(added.aliases) { $1 }
    return found
  }

  private static func add(
    _ hosts: [UInt128: IncomingHost], to added: inout BatchDimensions, _ connection: Connection
  ) throws(FleetError) {
    if hosts.isEmpty { return }
    let sorted = hosts.values.sorted { $0.machine < $1.machine }
    let parameters = Parameters.int32(added.tenant) + .uuids(sorted.map(\.machine)) + .texts(sorted.map(\.name))
    try connection.run(addHosts, parameters)
    let keys = Parameters.int32(added.tenant) + .uuids(sorted.map(\.machine))
    for (id, host) in zip(try ids(sorted.count, findHosts, keys, connection), sorted) { added.hosts[host.machine] = id }
  }

  private static func add(
    _ builds: [IncomingBuild: String?], to added: inout BatchDimensions, _ connection: Connection
  ) throws(FleetError) {
    if builds.isEmpty { return }
    let sorted = builds.sorted { ($0.key.program, $0.key.build) < ($1.key.program, $1.key.build) }
    let keys =
      Parameters.int32(added.tenant) + .texts(sorted.map(\.key.program)) + .texts(sorted.map(\.key.build))
    try connection.run(addBuilds, keys + .optionalTexts(sorted.map(\.value)))
    for (id, build) in zip(try ids(sorted.count, findBuilds, keys, connection), sorted) { added.builds[build.key] = id }
  }

  private static func add(
    _ groups: [Dimensions.AliasKey: IncomingGroup], to added: inout BatchDimensions, _ connection: Connection
  ) throws(FleetError) {
    if groups.isEmpty { return }
    let sorted = groups.sorted { ($0.key.program, $0.key.key) < ($1.key.program, $1.key.key) }
    let values = sorted.map(\.value)
    let keys = Parameters.int32(added.tenant) + .texts(sorted.map(\.key.program)) + .texts(sorted.map(\.key.key))
    let facts: Parameters =
      .int32s(values.map(\.version)) + .texts(values.map(\.title)) + .optionalTexts(values.map(\.coarse))
      + .texts(values.map(\.cause)) + .texts(values.map(\.signal))
    let tenant = added.tenant
    try connection.transaction { () throws(FleetError) in
      // Only one transaction at a time inserts issues of a tenant, because two transactions could insert two issues for
      // one key.
      try connection.run(Self.lockTenant, .int32(tenant))
      try connection.run(Self.addGroups, keys + facts)
    }
    for (id, group) in zip(try ids(sorted.count, findGroups, keys, connection), sorted) {
      added.aliases[group.key] = id
    }
  }

  /// Returns one primary key for each looked-up row, in the order of `keys`.
  ///
  /// - Throws: `FleetError.stale` if the database lacks a row. The other rows would then belong to the wrong keys.
  private static func ids(
    _ count: Int, _ find: Statement, _ keys: Parameters, _ connection: Connection
  ) throws(FleetError) -> [Int32] {
    let rows = try connection.run(find, keys).rows
    guard rows.count == count else { throw .stale }
    return rows.map { Int32(truncatingIfNeeded: $0.integer(0)) }
  }

  // The condition `not exists` keeps existing rows away from the insert: `do nothing` would still use up a number of
  // the identity column.
  private static let addHosts = Statement(
    name: "add_hosts",
    sql: """
      insert into host (tenant, machine, name)
      select $1::int, machine, name from unnest($2::uuid[], $3::text[]) i (machine, name)
      where not exists (select 1 from host h where h.tenant = $1::int and h.machine = i.machine) order by machine
      on conflict (tenant, machine) do nothing
      """)

  private static let findHosts = Statement(
    name: "find_hosts",
    sql: """
      select host.id from unnest($2::uuid[]) with ordinality i (machine, at)
      join host on host.tenant = $1::int and host.machine = i.machine order by at
      """)

  private static let addBuilds = Statement(
    name: "add_builds",
    sql: """
      insert into build (tenant, program, build, release)
      select $1::int, program, build, release
      from unnest($2::text[], $3::text[], $4::text[]) i (program, build, release)
      where not exists (
        select 1 from build b where b.tenant = $1::int and b.program = i.program and b.build = i.build)
      order by program, build
      on conflict (tenant, program, build) do nothing
      """)

  private static let findBuilds = Statement(
    name: "find_builds",
    sql: """
      select b.id from unnest($2::text[], $3::text[]) with ordinality i (program, build, at)
      join build b on b.tenant = $1::int and b.program = i.program and b.build = i.build order by at
      """)

  private static let lockTenant = Statement(
    name: "lock_tenant", sql: "select pg_advisory_xact_lock(1668441446, $1::int)")

  private static let addGroups = Statement(
    name: "add_groups",
    sql: """
      with missing as materialized (
        select i.*, nextval(pg_get_serial_sequence('issue', 'id')) issue
        from unnest($2::text[], $3::text[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[])
          i (program, key, version, title, coarse, cause, signal)
        where not exists (
          select 1 from alias a where a.tenant = $1::int and a.program = i.program and a.key = i.key)),
      issues as (
        insert into issue (id, tenant, program, title, coarse, cause, signal) overriding system value
        select issue, $1::int, program, title, coarse, cause, signal from missing)
      insert into alias (tenant, program, key, version, issue)
      select $1::int, program, key, version, issue from missing
      """)

  private static let findGroups = Statement(
    name: "find_groups",
    sql: """
      select a.id from unnest($2::text[], $3::text[]) with ordinality i (program, key, at)
      join alias a on a.tenant = $1::int and a.program = i.program and a.key = i.key order by at
      """)
}
