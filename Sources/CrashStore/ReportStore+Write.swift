public import CrashReport
import FoundationEssentials
import GRDB

extension ReportStore {
  /// Stores a report, or replaces the one with its id.
  ///
  /// A replaced report gets a new cursor, so that subscribers see it again. A report that differs from the stored one
  /// in nothing but its timing changes nothing.
  /// - Parameters:
  ///   - report: The report.
  ///   - raw: What the process wrote.
  ///   - expected: The event of the report that it replaces: only that one is replaced.
  /// - Returns: What it did.
  /// - Throws: `StoreError.changedMeanwhile`, `StoreError.identifierTaken` when a report of another process has the id, `unavailable`.
  public func put(
    _ report: CrashReport, raw: [UInt8], replacing expected: StoreCursor? = nil
  ) throws(StoreError) -> StoreChange {
    let pool = pool
    return try Self.translating(path) {
      let json = try JSONEncoder().encode(report)
      return try pool.write { database in
        let old = try Row.fetchOne(
          database, sql: "SELECT seq, uid, pid, json FROM reports WHERE id = ?", arguments: [report.id])
        if let expected, old.map({ $0["seq"] as Int64 }) != expected.sequence {
          throw StoreError.changedMeanwhile(id: report.id)
        }
        if let old {
          guard old["uid"] == report.process.uid, old["pid"] == report.process.pid else {
            throw StoreError.identifierTaken(id: report.id)
          }
          if try Self.isSame(old["json"], report) { return .unchanged }
          try database.execute(sql: "DELETE FROM reports WHERE id = ?", arguments: [report.id])
        }
        try Self.insert(report, json: json, raw: raw, into: database)
        let cursor = StoreCursor(epoch: self.epoch, sequence: database.lastInsertedRowID)
        return old == nil ? .inserted(cursor) : .updated(cursor)
      }
    }
  }

  private static func isSame(_ json: Data, _ report: CrashReport) throws -> Bool {
    var old = try JSONDecoder().decode(CrashReport.self, from: json)
    old.timing = report.timing
    return old == report
  }

  private static func insert(_ report: CrashReport, json: Data, raw: [UInt8], into database: Database) throws {
    let frame = report.namingFrame
    try database.execute(
      sql: """
        INSERT INTO reports (id, time, pid, uid, name, executable, unit, signal, reason, sentence, function, file,
          line, group_key, group_title, json)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        report.id, report.time, report.process.pid, report.process.uid, report.process.name,
        report.process.executable, report.process.unit, report.signal.name, report.reason,
        report.diagnosis.sentence, frame?.function ?? "", frame?.file, frame?.line, report.group.key,
        report.group.title, json,
      ])
    let sequence = database.lastInsertedRowID
    try database.execute(
      sql: """
        INSERT INTO group_reports (group_key, uid, time, id, build, name, executable, title)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        report.group.key, report.process.uid, report.time, report.id, report.process.buildID, report.process.name,
        report.process.executable, report.group.title,
      ])
    try database.execute(
      sql: "INSERT INTO raw_records (id, bytes) VALUES (?, ?)", arguments: [report.id, Data(raw)])
    // The caller reads the event's number from lastInsertedRowID; the other tables have no rowid and leave it alone.
    assert(database.lastInsertedRowID == sequence, "BUG: a table beside reports has a rowid")
  }
}
