/// A table that is partitioned by day or by month.
///
/// One more partition has the rows whose times are too far in the future.
struct PartitionedTable: Sendable {
  /// The partitioned table.
  var name: String
  /// The period of one partition.
  private var unit: Unit
  /// The number of past partitions that `maintain` keeps.
  private var past: Int32

  private enum Unit: String { case day, month }

  /// The number of future partitions.
  ///
  /// The clock of a host can be ahead, and maintenance can be late.
  private static let future: Int32 = 3

  static func report(keepingDays days: Int32) -> Self { Self(name: "report", unit: .day, past: days) }
  static func counter(_ name: String, keepingMonths months: Int32) -> Self {
    Self(name: name, unit: .month, past: months)
  }

  private struct Part: Equatable {
    var name: String
    var from: String
    var until: String
  }

  func maintain(_ connection: Connection, dropsOld: Bool) throws(FleetError) {
    // Parts that an interrupted call has detached, but not dropped, are dropped here, too.
    let found = try connection.run(
      Statement(
        name: "partitions",
        sql: """
          select c.relname, coalesce(i.inhdetachpending, true) from pg_class c
          left join pg_inherits i on i.inhrelid = c.oid
          where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname like $1 || '\\_p%'
          """), .text(name))
    let attached = Set(found.rows.filter { !$0.flag(1) }.map { $0.text(0) })
    let wanted = try parts(connection)
    for part in wanted where !attached.contains(part.name) { try create(part, connection) }
    guard dropsOld else { return }
    let kept = Set(wanted.map(\.name))
    for row in found.rows where !kept.contains(row.text(0)) {
      try drop(row.text(0), isAttached: attached.contains(row.text(0)), connection)
    }
  }

  /// Creates a partition without a lock that blocks ingest: creates an ordinary table, and then attaches it.
  private func create(_ part: Part, _ connection: Connection) throws(FleetError) {
    try connection.transaction { () throws(FleetError) in
      try connection.script(
        """
        create table if not exists \(part.name) (like \(name) including defaults including compression);
        alter table \(name) attach partition \(part.name) for values from (\(part.from)) to (\(part.until))
        """)
    }
  }

  private func drop(_ part: String, isAttached: Bool, _ connection: Connection) throws(FleetError) {
    if isAttached {
      try connection.script("alter table \(name) detach partition \(part) concurrently")
    } else {
      // Complete an interrupted detachment. If no detachment was interrupted, the command fails, because the table is
      // no longer a partition. In both cases, drop the table.
      _ = try? connection.script("alter table \(name) detach partition \(part) finalize")
    }
    try connection.script("drop table \(part)")
  }

  /// Returns the partitions that the table must have now.
  private func parts(_ connection: Connection) throws(FleetError) -> [Part] {
    let rows = try connection.run(
      Statement(
        name: "partitions_wanted",
        sql: """
          select to_char(d, 'YYYYMMDD'), to_char(d, 'YYYY-MM-DD'), to_char(d + step, 'YYYY-MM-DD')
          from (select ('1 ' || $1::text)::interval step) s, generate_series(
            date_trunc($1::text, now()) - $2::int * step, date_trunc($1::text, now()) + $3::int * step, step) d
          """), .text(unit.rawValue) + .int32(past) + .int32(Self.future))
    return [Part(name: "\(name)_p0", from: "minvalue", until: "'\(Self.firstTime)'")]
      + rows.rows.map { row in
        Part(name: "\(name)_p\(row.text(0))", from: "'\(row.text(1))'", until: "'\(row.text(2))'")
      }
  }

  /// The end of the partition for times that are too far in the future.
  ///
  /// Such times are stored as times in 1970.
  private static let firstTime = "2000-01-01"
}
