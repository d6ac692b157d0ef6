// Creates and updates the schema while the service stores reports.
extension FleetStore {
  /// The key of the advisory lock that only one migration or maintenance holds at a time: "crashflt" in ASCII.
  private static let lock: Int64 = 0x6372_6173_6866_6c74

  /// Applies the missing migration steps, creates the partitions that are needed, and returns the names of the applied
  /// steps.
  ///
  /// Each step has its own transaction. A step waits at most two seconds for a lock, and then starts again later.
  /// Otherwise, reports would wait longer in the queue behind its lock.
  public func migrate() async throws(FleetError) -> [String] { try await migrate(Migration.all) }

  func migrate(_ migrations: [Migration]) async throws(FleetError) -> [String] {
    var applied: [String] = []
    for migration in migrations {
      var attempt = 1
      while true {
        do throws(FleetError) {
          if try await apply(migration) { applied.append(migration.name) }
          break
        } catch {
          guard case .conflict = error, attempt < Self.migrationAttempts else { throw error }
          // A canceled task does not wait.
          try? await Task.sleep(for: .milliseconds(100 * attempt))
          attempt += 1
        }
      }
    }
    try await createPartitions()
    return applied
  }

  private static let migrationAttempts = 20

  private func apply(_ migration: Migration) async throws(FleetError) -> Bool {
    try await run { connection throws(FleetError) in
      // A step can take hours, for example to build an index.
      let usual = connection.patience_ms
      connection.patience_ms = -1
      defer { connection.patience_ms = usual }
      return try connection.transaction { () throws(FleetError) in
        // Another process can be running a long step. Therefore, take the advisory lock before lock_timeout is
        // shortened: an attempt then waits for that process up to 10 s, as the connection's options say.
        try connection.run(Self.takeLock, .int64(Self.lock))
        try connection.script(
          """
          create table if not exists migration (
            version int primary key, name text not null, applied timestamptz not null default now())
          """)
        let known = try connection.run(
          Statement(name: "migration_known", sql: "select 1 from migration where version = $1"),
          .int32(migration.version))
        if known.first != nil { return false }
        try connection.script("set local lock_timeout = '2s'; set local statement_timeout = 0")
        try connection.script(migration.sql)
        try connection.run(
          Statement(name: "migration_add", sql: "insert into migration (version, name) values ($1, $2)"),
          .int32(migration.version) + .text(migration.name))
        return true
      }
    }
  }

  // An hour of 1970 stands for a time that was too far in the future. Such rows are kept, like those in the first
  // partition.
  private static func dropHours(of table: String) -> Statement {
    Statement(
      name: "drop_hours_\(table)",
      sql: """
        delete from \(table) where ctid = any (array(
          select ctid from \(table)
          where hour >= timestamptz '2000-01-01' and hour < date_trunc('month', now()) - $1::int * interval '1 month'
          limit 100000))
        """)
  }

  private static let takeLock = Statement(name: "lock", sql: "select pg_advisory_xact_lock($1)")

  /// Checks that the database has the schema that this program needs.
  ///
  /// A newer schema is accepted, because steps keep what older programs use.
  /// - Throws: `FleetError.schema`, whose text says what to do.
  public func checkSchema(repeats: Bool = true) async throws(FleetError) {
    let find: @Sendable (Connection) throws(FleetError) -> String? = { connection throws(FleetError) in
      try connection.run(Statement(name: "schema_version", sql: "select max(version) from migration")).first
    }
    let version = repeats ? try await retrying(find) : try await run(find)
    guard let number = version.flatMap({ Int32($0) }), number >= Migration.newest else {
      throw .schema(
        "the database has schema version \(version ?? "0"), and this program needs \(Migration.newest);"
          + " run crash-fleet migrate")
    }
  }

  /// Creates the partitions of the next days, and drops those that are older than the retention.
  ///
  /// Only the running service calls it. Another command may have other settings, and would drop what the service keeps.
  public func maintain() async throws(FleetError) { try await maintainPartitions(dropsOld: true) }

  /// Creates the partitions of the retention and of the next days.
  func createPartitions() async throws(FleetError) { try await maintainPartitions(dropsOld: false) }

  private func maintainPartitions(dropsOld: Bool) async throws(FleetError) {
    let (days, months) = (configuration.reportDays, configuration.counterMonths)
    try await retrying { connection throws(FleetError) in
      // Use a session lock, because PostgreSQL cannot detach a partition concurrently within a transaction.
      try connection.run(Statement(name: "maintain_lock", sql: "select pg_advisory_lock($1)"), .int64(Self.lock))
      let result: Result<Void, FleetError>
      do throws(FleetError) {
        try PartitionedTable.report(keepingDays: days).maintain(connection, dropsOld: dropsOld)
        for name in ["counter", "alias_hour"] {
          try PartitionedTable.counter(name, keepingMonths: months).maintain(connection, dropsOld: dropsOld)
        }
        // These tables have no partitions, so a call deletes at most 100,000 old rows of each. The next call removes
        // the rest.
        for table in ["alias_hour_sum", "program_hour"] where dropsOld {
          try connection.run(Self.dropHours(of: table), .int32(months))
        }
        if dropsOld { try Self.dropAsks(connection, keepingDays: days) }
        result = .success(())
      } catch { result = .failure(error) }
      try connection.run(Statement(name: "maintain_unlock", sql: "select pg_advisory_unlock($1)"), .int64(Self.lock))
      try result.get()
    }
  }
}
