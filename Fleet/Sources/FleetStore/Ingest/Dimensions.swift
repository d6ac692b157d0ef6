/// A cache of the primary keys of hosts, builds and groups, which never change.
///
/// After a failover, the new primary server may lack rows that the cache knows, or may have given their primary keys to
/// other rows. Each batch therefore checks its primary keys in its own transaction.
struct Dimensions: Sendable {
  struct HostKey: Hashable, Sendable {
    var tenant: Int32
    var machine: UInt128
  }
  struct BuildKey: Hashable, Sendable {
    var tenant: Int32
    var build: IncomingBuild
  }
  struct AliasKey: Hashable, Sendable {
    var tenant: Int32
    var program: String
    var key: String

    static func == (left: Self, right: Self) -> Bool {
      left.tenant == right.tenant && left.program.hasSameBytes(as: right.program)
        && left.key.hasSameBytes(as: right.key)
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(tenant)
      program.hashBytes(into: &hasher)
      key.hashBytes(into: &hasher)
    }
  }

  /// The maximum number of entries of each kind.
  ///
  /// If a table is full, `add` removes all its entries.
  static let limit = 200_000

  private(set) var hosts: [HostKey: Int32] = [:]
  private(set) var builds: [BuildKey: Int32] = [:]
  private(set) var aliases: [AliasKey: Int32] = [:]

  mutating func add(_ id: Int32, host: HostKey) { Self.add(id, host, to: &hosts) }
  mutating func add(_ id: Int32, build: BuildKey) { Self.add(id, build, to: &builds) }
  mutating func add(_ id: Int32, alias: AliasKey) { Self.add(id, alias, to: &aliases) }

  /// Removes the primary keys of one batch.
  mutating func remove(_ batch: BatchDimensions) {
    for machine in batch.hosts.keys { hosts[HostKey(tenant: batch.tenant, machine: machine)] = nil }
    for build in batch.builds.keys { builds[BuildKey(tenant: batch.tenant, build: build)] = nil }
    for key in batch.aliases.keys { aliases[key] = nil }
  }

  private static func add<Key>(_ id: Int32, _ key: Key, to table: inout [Key: Int32]) {
    if table.count >= limit { table.removeAll(keepingCapacity: true) }
    table[key] = id
  }
}

/// The primary keys that one batch needs.
struct BatchDimensions: Sendable {
  var tenant: Int32
  var hosts: [UInt128: Int32] = [:]
  var builds: [IncomingBuild: Int32] = [:]
  var aliases: [Dimensions.AliasKey: Int32] = [:]

  /// Whether the database still has all these primary keys, for the same hosts, builds and groups.
  func areCurrent(_ connection: Connection) throws(FleetError) -> Bool {
    let (hosts, builds, aliases) = (Array(hosts), Array(builds), Array(aliases))
    var parameters = Parameters.int32(tenant)
    parameters = parameters + .int32s(hosts.map(\.value)) + .uuids(hosts.map(\.key))
    parameters = parameters + .int32s(builds.map(\.value)) + .texts(builds.map(\.key.program))
    parameters = parameters + .texts(builds.map(\.key.build)) + .int32s(aliases.map(\.value))
    parameters = parameters + .texts(aliases.map(\.key.program)) + .texts(aliases.map(\.key.key))
    let row = try connection.run(Self.countKnown, parameters).rows.first
    return row.map {
      ($0.integer(0), $0.integer(1), $0.integer(2)) == (Int64(hosts.count), Int64(builds.count), Int64(aliases.count))
    } ?? false
  }

  private static let countKnown = Statement(
    name: "count_known",
    sql: """
      select (
        select count(*) from unnest($2::int[], $3::uuid[]) i (id, machine)
        join host h on h.id = i.id and h.tenant = $1::int and h.machine = i.machine), (
        select count(*) from unnest($4::int[], $5::text[], $6::text[]) i (id, program, build)
        join build b on b.id = i.id and b.tenant = $1::int and b.program = i.program and b.build = i.build), (
        select count(*) from unnest($7::int[], $8::text[], $9::text[]) i (id, program, key)
        join alias a on a.id = i.id and a.tenant = $1::int and a.program = i.program and a.key = i.key)
      """)

  func alias(_ build: IncomingBuild, _ group: IncomingGroup) -> Int32? {
    aliases[Dimensions.AliasKey(tenant: tenant, program: build.program, key: group.key)]
  }
}
