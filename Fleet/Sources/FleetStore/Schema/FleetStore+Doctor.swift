// Checks for problems that make the database lose reports, or stop storing them.
extension FleetStore {
  /// One result of a check.
  public struct Finding: Sendable, Equatable {
    /// The severity of the result.
    public enum Level: String, Sendable { case good, warning, bad }

    /// How bad the result is.
    public var level: Level
    /// One sentence.
    ///
    /// For a problem, it says what to do.
    public var text: String
  }

  /// Runs all checks.
  ///
  /// `now_us` is the time of this machine's clock in microseconds since 1970. With a tenant, the result names only
  /// hosts of this tenant.
  public func diagnose(now_us: Int64 = now_us(), tenant: Int32? = nil) async throws(FleetError) -> [Finding] {
    var findings: [Finding] = []
    do throws(FleetError) {
      try await checkSchema()
      findings.append(Finding(level: .good, text: "the schema has version \(Migration.newest)"))
    } catch {
      guard case .schema(let text) = error else { throw error }
      return [Finding(level: .bad, text: text)]
    }
    findings += try await retrying { connection throws(FleetError) in
      try Self.durability(connection) + Self.replication(connection) + Self.space(connection)
        + Self.clocks(connection, now_us: now_us, tenant) + Self.partitions(connection)
    }
    return findings
  }

  private static func durability(_ connection: Connection) throws(FleetError) -> [Finding] {
    let row =
      try connection.script(
        """
        select current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
          current_setting('synchronous_standby_names')
        """
      ).rows.first ?? []
    guard row.count == 4 else { return [] }
    var findings: [Finding] = []
    for (name, value) in zip(["fsync", "full_page_writes"], [row.text(0), row.text(1)]) where value != "on" {
      findings.append(Finding(level: .bad, text: "\(name) is \(value): a power failure loses reports; set it to on"))
    }
    if ["off", "local"].contains(row.text(2)) {
      findings.append(
        Finding(level: .bad, text: "synchronous_commit is \(row.text(2)): accepted reports may be lost; set it to on"))
    }
    findings.append(
      row.text(3).isEmpty
        ? Finding(
          level: .warning,
          text: "synchronous_standby_names is empty: the loss of the leader's disk loses accepted reports; with two"
            + " standbys, set it to 'ANY 1 (name1, name2)'")
        : Finding(level: .good, text: "commits wait for \(row.text(3))"))
    return findings
  }

  private static func replication(_ connection: Connection) throws(FleetError) -> [Finding] {
    let rows = try connection.script(
      """
      select application_name, state, sync_state, coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn), -1)::bigint
      from pg_stat_replication order by 1
      """
    ).rows
    let needsStandby = try connection.script("select current_setting('synchronous_standby_names') <> ''").first == "t"
    var findings = rows.map { row in
      let lag = row.integer(3)
      let isBehind = lag < 0 || lag > 256 << 20 || row.text(1) != "streaming"
      return Finding(
        level: isBehind ? .warning : .good,
        text: "standby \(row.text(0)) is \(row.text(1)), \(row.text(2)), \(max(0, lag) >> 20) MiB behind")
    }
    if needsStandby, !rows.contains(where: { ["sync", "quorum"].contains($0.text(2)) && $0.text(1) == "streaming" }) {
      findings.append(
        Finding(level: .bad, text: "no synchronous standby is connected, so no commit ends; start a standby"))
    }
    return findings
  }

  private static func space(_ connection: Connection) throws(FleetError) -> [Finding] {
    let row =
      try connection.script(
        """
        select pg_database_size(current_database()), coalesce((select sum(pg_total_relation_size(inhrelid))
          from pg_inherits where inhparent = 'report'::regclass), 0)::bigint, (
          select count(*) from pg_inherits where inhparent = 'report'::regclass and inhrelid::regclass::text <> 'report_p0')
        """
      ).rows.first ?? []
    guard row.count == 3 else { return [] }
    return [
      Finding(
        level: .good,
        text: "the database has \(row.integer(0) >> 20) MiB, of which reports \(row.integer(1) >> 20) MiB on"
          + " \(row.integer(2)) \(row.integer(2) == 1 ? "day" : "days")")
    ]
  }

  private static func clocks(
    _ connection: Connection, now_us: Int64, _ tenant: Int32?
  ) throws(FleetError) -> [Finding] {
    let limit_ms: Int64 = 60_000
    let database = try connection.script("select (extract(epoch from clock_timestamp()) * 1e6)::bigint").rows.first
    let ahead_ms = ((database?.integer(0) ?? now_us) - now_us) / 1_000
    var findings = [
      abs(ahead_ms) > limit_ms
        ? Finding(
          level: .warning, text: "the clock of the database is \(ahead_ms / 1_000) s ahead of this machine; check NTP")
        : Finding(level: .good, text: "the clocks of the database and of this machine agree")
    ]
    let hosts = try connection.run(
      Statement(
        name: "doctor_clocks",
        sql: """
          select name, clock_ahead_ms / 1000 from host where abs(clock_ahead_ms) > $1::bigint
            and last_seen > now() - interval '1 day' and ($2::int is null or tenant = $2::int)
          order by abs(clock_ahead_ms) desc limit 10
          """), .int64(limit_ms) + (tenant.map(Parameters.int32) ?? .null))
    findings += hosts.rows.map { row in
      Finding(level: .warning, text: "the clock of host '\(row.text(0))' is \(row.text(1)) s ahead; check NTP there")
    }
    return findings
  }

  private static func partitions(_ connection: Connection) throws(FleetError) -> [Finding] {
    let next = try connection.script(
      "select to_regclass('report_p' || to_char(current_date + 1, 'YYYYMMDD')) is not null"
    ).first
    return next == "t"
      ? []
      : [Finding(level: .bad, text: "tomorrow's partition is missing; run crash-fleet serve or crash-fleet migrate")]
  }
}
