public import CrashReport
import FoundationEssentials
import GRDB
import Synchronization

/// A row that a new report may replace.
private struct OldRow: Decodable, FetchableRecord {
  var seq: Int64
  var uid: Int64
  var pid: Int
  var json: Data
}

extension ReportStore {
  /// Of a report and its raw record together; of more, parts are left out, and counted in the report's losses.
  public static let reportLimitBytes = 8 << 20

  /// Stores a report, or replaces the one with its id.
  ///
  /// A replaced report gets a new cursor, so that subscribers see it again. A report that differs from the stored one
  /// in nothing but its timing changes nothing, nor does one that was removed: what comes late of it was counted already.
  /// A report of a restricted process stays one: its user does not see it because crashd learned less the second time.
  /// - Parameters:
  ///   - report: The report.
  ///   - raw: What the process wrote.
  ///   - expected: The event of the report that it replaces: only that one is replaced.
  ///   - ownPID: The pid that the process claims; a report that was stored before it connected has that one.
  /// - Returns: What it did.
  /// - Throws: `StoreError.changedMeanwhile`, `StoreError.identifierTaken` when a report of another process has the id, `unavailable`.
  public func put(
    _ report: CrashReport, raw: [UInt8], replacing expected: StoreCursor? = nil, knownAs ownPID: Int? = nil
  ) throws(StoreError) -> StoreChange {
    return try Self.translating(path) {
      // What is written to a file without a name goes with this process.
      if let what = displacement() { throw StoreError.unavailable(path: path, reason: what) }
      let sized = try SizedReport(report, raw: raw, limitBytes: Self.reportLimitBytes)
      let change = try writing.withLock { _ in
        try put(sized, replacing: expected, knownAs: ownPID, into: try pool)
      }
      if case .inserted = change {
        for group in report.groups { noteGrown(group.key, report.process.ownerKey) }
      }
      return change
    }
  }

  private func put(
    _ sized: SizedReport, replacing expected: StoreCursor?, knownAs ownPID: Int?, into pool: DatabasePool
  ) throws -> StoreChange {
    let (fairShare, full) = (fairShare, fullShares)
    return try pool.write { database in
      var (sized, report) = (sized, sized.report)
      let old = try OldRow.fetchOne(
        database.cachedStatement(sql: "SELECT seq, uid, pid, json FROM reports WHERE id = ?"), arguments: [report.id])
      if let expected, old?.seq != expected.sequence { throw StoreError.changedMeanwhile(id: report.id) }
      if let old {
        guard OwnerKey.uid(old.uid) == report.process.uid, old.pid == report.process.pid || old.pid == ownPID else {
          throw StoreError.identifierTaken(id: report.id)
        }
        if OwnerKey.isRestricted(old.uid), report.process.isRestricted != true {
          sized = try sized.restricted()
          report = sized.report
        }
        if Self.isSame(old.json, report) { return .unchanged }
        try database.execute(sql: "DELETE FROM reports WHERE id = ?", arguments: [report.id])
      } else if try Self.isRemoved(report.id, report.process.uid, in: database) {
        return .unchanged
      }
      let sequence = try Self.insert(report, json: sized.json, raw: sized.raw, into: database)
      // A report that is replaced was counted when it came; a cause that was found later does not change the count.
      if old == nil {
        try Self.count(.crash, EventCount(report), of: report.process.ownerKey, fairShare, full, in: database)
      }
      let cursor = StoreCursor(epoch: epoch, sequence: sequence)
      return old == nil ? .inserted(cursor) : .updated(cursor)
    }
  }

  /// One that cannot be read is another.
  private static func isSame(_ json: Data, _ report: CrashReport) -> Bool {
    guard var old = try? JSONDecoder().decode(CrashReport.self, from: json) else { return false }
    old.timing = report.timing
    return old == report
  }

  /// Writes a report that is not there; with the number of an event, or the next one.
  @discardableResult
  static func insert(
    _ report: CrashReport, json: Data, raw: [UInt8]?, as number: Int64? = nil, into database: Database
  ) throws -> Int64 {
    // GRDB prepares the statement once per connection: preparing costs more than running it.
    try ReportRow(number: number, report: report, json: json).insert(database)
    let sequence = number ?? database.lastInsertedRowID
    let row = try database.cachedStatement(
      sql: """
        INSERT INTO group_reports (group_key, uid, time, id, build, name, executable, title, bytes, seq)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """)
    // Its bytes count once, whatever the number of its groups. A tag is in its table and in both indexes.
    let tags = report.tags
    var bytes = json.count + (raw?.count ?? 0) + tags.reduce(0) { $0 + 3 * ($1.key.utf8.count + $1.value.utf8.count) }
    for group in report.groups {
      try row.execute(
        arguments: [
          group.key, report.process.ownerKey, report.time, report.id, report.process.buildID, report.process.name,
          report.process.executable, group.title, bytes, sequence,
        ])
      bytes = 0
    }
    let tag = try database.cachedStatement(sql: "INSERT INTO report_tags (seq, key, value, uid) VALUES (?, ?, ?, ?)")
    for (key, value) in tags { try tag.execute(arguments: [sequence, key, value, report.process.ownerKey]) }
    if let raw {
      try database.cachedStatement(sql: "INSERT INTO raw_records (id, bytes) VALUES (?, ?)")
        .execute(arguments: [report.id, Data(raw)])
    }
    return sequence
  }
}
