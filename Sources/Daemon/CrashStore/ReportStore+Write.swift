import CrashProtocol
public import CrashReport
import FoundationEssentials
import GRDB
import Synchronization

/// The row of a stored report that a new report replaces.
private struct OldRow: Decodable, FetchableRecord {
  var seq: Int64
  var uid: Int64
  var pid: Int
  var json: Data
}

extension ReportStore {
  /// The maximum total size of a report and its raw record (the copy of the ring), in bytes.
  ///
  /// If the size is exceeded, parts of the report are dropped and counted in its losses.
  public static let reportLimitBytes = 8 << 20

  /// Stores a report, or replaces the report with the same id.
  ///
  /// A replaced report gets a new cursor and is a new event, so that subscribers receive it again. The store does not
  /// change in two cases: the new report differs from the stored report only in its timing, or the report with this id
  /// was removed earlier. The report of a restricted process (with more privileges than its user) stays restricted,
  /// even if the new report does not state that the process is restricted. Otherwise, the user of the process could
  /// read the report.
  /// - Parameters:
  ///   - report: The report to store.
  ///   - raw: The raw record: a copy of the ring that the process wrote.
  ///   - expected: The cursor that the stored report must have; nil for any cursor. If the stored report has another
  ///     cursor, the call fails.
  ///   - ownPID: The pid in the pid namespace of the process, as the process reported it. A report that was stored
  ///     before the process connected (from its spool file) contains this pid.
  /// - Returns: How the call changed the store.
  /// - Throws: `StoreError.changedMeanwhile`; `identifierTaken` if a report of another process has the id;
  ///   `unavailable`.
  public func put(
    _ report: CrashReport, raw: [UInt8], replacing expected: StoreCursor? = nil, knownAs ownPID: Int? = nil
  ) throws(StoreError) -> StoreChange {
    return try Self.translating(path) {
      // Check that the open database file was not removed or replaced, because data in a deleted file would be lost
      // when crashd ends.
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
        try Self.delete(report.id, in: database)
      } else if try Self.isRemoved(report.id, report.process.uid, in: database) {
        return .unchanged
      }
      let sequence = try Self.insert(report, json: sized.json, raw: sized.raw, into: database)
      // Do not count a report that replaces another one, because the crash was counted when its report was first
      // stored. The count does not change even if the new report has another cause.
      if old == nil {
        try Self.count(.crash, EventCount(report), of: report.process.ownerKey, fairShare, full, in: database)
      }
      let cursor = StoreCursor(epoch: epoch, sequence: sequence)
      return old == nil ? .inserted(cursor) : .updated(cursor)
    }
  }

  /// Whether the stored report equals the new report, apart from the timing.
  ///
  /// If the stored report cannot be read, the result is false.
  private static func isSame(_ json: Data, _ report: CrashReport) -> Bool {
    guard var old = try? JSONDecoder().decode(CrashReport.self, from: json) else { return false }
    old.timing = report.timing
    return old == report
  }

  /// Inserts a report with the given event number; if it is nil, with the next event number.
  ///
  /// Precondition: the store has no report with the same ID.
  @discardableResult
  static func insert(
    _ report: CrashReport, json: Data, raw: [UInt8]?, as number: Int64? = nil, into database: Database
  ) throws -> Int64 {
    // Use the prepared statement that GRDB caches for each connection, because preparing the statement costs more than
    // running it.
    try ReportRow(number: number, report: report, json: json).insert(database)
    let sequence = number ?? database.lastInsertedRowID
    let row = try database.cachedStatement(
      sql: """
        INSERT INTO group_reports (group_key, uid, time, id, build, name, executable, title, bytes, seq)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """)
    // Count the bytes of a report in only one of its groups, so that the sum over all groups is correct. Count the
    // bytes of a tag three times, because the tag is stored in its table and in two indexes.
    let tables = [(ReportRow.tagTable, report.tags), (ReportRow.requestTable, report.requestFields)]
    let tags = tables.flatMap(\.1)
    var bytes = json.count + (raw?.count ?? 0) + tags.reduce(0) { $0 + 3 * ($1.key.utf8.count + $1.value.utf8.count) }
    for group in report.groups {
      try row.execute(
        arguments: [
          group.key, report.process.ownerKey, report.time, report.id, report.process.buildID, report.process.name,
          report.process.executable, group.title, bytes, sequence,
        ])
      bytes = 0
    }
    for (table, tags) in tables where !tags.isEmpty {
      let tag = try database.cachedStatement(sql: "INSERT INTO \(table) (seq, key, value, uid) VALUES (?, ?, ?, ?)")
      for (key, value) in tags { try tag.execute(arguments: [sequence, key, value, report.process.ownerKey]) }
    }
    if let raw {
      try database.cachedStatement(sql: "INSERT INTO raw_records (id, bytes) VALUES (?, ?)")
        .execute(arguments: [report.id, Data(raw)])
    }
    return sequence
  }
}
