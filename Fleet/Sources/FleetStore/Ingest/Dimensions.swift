/// A cache of the primary keys of hosts, builds and groups, which never change.
///
/// All entries stay valid, because nothing deletes these rows from the database.
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

  func alias(_ build: IncomingBuild, _ group: IncomingGroup) -> Int32? {
    aliases[Dimensions.AliasKey(tenant: tenant, program: build.program, key: group.key)]
  }
}
