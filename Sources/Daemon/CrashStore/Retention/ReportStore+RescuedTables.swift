// Copies the tables other than the reports when the contents of a database that was set aside are rescued.
import GRDB

extension ReportStore {
  /// The copied counts are added to the existing counts, because the new store already counts events while the old
  /// database is read.
  private static let addsCounts = """
     ON CONFLICT DO UPDATE SET last = max(last, excluded.last),
      count = min(count + max(0, CAST(excluded.count AS INTEGER)), \(EventCount.mostEvents))
    """

  /// Copies all tables with data except the tables of reports.
  ///
  /// All rows of each table that can be read are copied. Incidents keep their numbers only if cursors stay valid.
  /// Otherwise, the incidents get new numbers, like new incidents.
  func takeOverTables(from old: DatabaseQueue, keepsNumbers: Bool) {
    let tables = [
      "group_states", "group_past", "incidents", "evicted_incidents", "dangling_services", "dangling_events",
      "event_counts", "health_builds", "health_hours", "health_returns", "health_processes",
    ]
    for table in tables where keepsNumbers || table != "evicted_incidents" {
      guard let rows = try? old.read({ try Row.fetchAll($0, sql: "SELECT * FROM \(table)") }), let first = rows.first
      else { continue }
      let columns = first.columnNames.filter { keepsNumbers || table != "incidents" || $0 != "seq" }
      let hasNumbers = columns.contains("seq")
      let marks = columns.map { _ in "?" }.joined(separator: ", ")
      let sql =
        "INSERT OR IGNORE INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(marks))"
        + (table == "event_counts" ? Self.addsCounts : Self.addsHealth[table] ?? "")
      // A table whose layout differs from the current schema is not copied. The file that was set aside still contains
      // this table.
      try? write { database in
        let newest = hasNumbers ? try Self.newestIncident(in: database) : 0
        for row in rows {
          // If a row has a higher number than the old store ever assigned, the number is the result of damage. Such a
          // row is not copied, because all later numbers would have to be even higher.
          if hasNumbers {
            guard let number = Int64.fromDatabaseValue(row["seq"]), (1...max(newest, 1)).contains(number) else {
              continue
            }
          }
          try database.execute(sql: sql, arguments: StatementArguments(columns.map { row[$0] as DatabaseValue }))
        }
      }
    }
    try? write { database in
      try database.execute(
        sql: """
          DELETE FROM evicted_incidents WHERE EXISTS (
            SELECT 1 FROM incidents i WHERE i.id = evicted_incidents.id AND i.uid = evicted_incidents.uid)
          """)
    }
    // The rows of `use_after_frees` are computed from the incidents and not copied, so that their sums do not depend on
    // a damaged table.
    try? write { try UseAfterFree.fill(in: $0) }
  }
}
