// Copies the tables other than those of reports from a damaged database that was set aside.
import GRDB

extension ReportStore {
  /// The SQL that adds copied counts to existing counts: the new store already counts events while the old database is
  /// read.
  private static let addsCounts = """
     ON CONFLICT DO UPDATE SET last = max(last, excluded.last),
      count = min(count + max(0, CAST(excluded.count AS INTEGER)), \(EventCount.mostEvents))
    """

  /// Copies all tables with data except the tables of reports.
  ///
  /// If a table cannot be read, it is not copied. Incidents keep their numbers only if cursors stay valid. Otherwise,
  /// the incidents get new numbers, like new incidents.
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
      // A table whose layout differs from the current schema is not copied, but remains in the file that was set aside.
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
    // Compute the rows of `use_after_frees` from the incidents instead of copying them, because the old table can be
    // damaged.
    try? write { try UseAfterFree.fill(in: $0) }
  }
}
