import CrashReport
import FoundationEssentials
import GRDB
import Glibc
import LinuxSystem
import Synchronization

// Recovers from a corrupt database. A corrupt database is set aside (renamed), and is never deleted. The contents that
// can be read are copied to a new database.
extension ReportStore {
  /// The result of copying a database that was set aside.
  public struct Rescued: Sendable, Equatable {
    /// The number of reports that were copied, with or without their raw records.
    public var reports = 0
    /// The raw records (copies of rings) whose reports could not be read.
    ///
    /// crashd can build these reports again.
    public var orphans: [Orphan] = []
    /// The number of rows in the old database that could not be read.
    public var unreadable = 0
    /// Whether at least a part of the old database could be read.
    public var isReadable = true
  }

  /// A raw record (copy of a ring) whose report is lost.
  public struct Orphan: Sendable, Equatable {
    /// The ID of the lost report.
    public var id: String
    /// The bytes of the raw record.
    public var raw: [UInt8]
  }

  /// The maximum number of raw records without reports that a rescue returns.
  private static let orphanLimit = 256

  /// Renames the files of a database, including its write-ahead log.
  ///
  /// The new name contains the current time.
  static func setAside(path: String, as what: String = "corrupt", at time: String) throws(StoreError) -> String {
    let mark = time.filter { $0.isLetter || $0.isNumber }
    var aside = "\(path).\(what)-\(mark)"
    var attempt = 1
    while unsafe access(aside, F_OK) == 0 {
      attempt += 1
      aside = "\(path).\(what)-\(mark)-\(attempt)"
    }
    for suffix in ["", "-wal", "-shm"] where unsafe rename(path + suffix, aside + suffix) != 0 && errno != ENOENT {
      throw .unavailable(path: path, reason: "\(SystemError("rename '\(path + suffix)'"))")
    }
    return aside
  }

  /// A database that was set aside.
  public struct SetAside: Sendable, Equatable {
    /// The path of the database after it was renamed.
    public var path: String
    /// The reason why the database was set aside.
    public var reason: String
    /// Whether the new database continues the event numbers of the database that was set aside.
    ///
    /// If the new database continues the numbers, cursors and subscribers stay valid.
    public var keepsCursors: Bool
  }

  /// Opens a database, and sets it aside if it is corrupt.
  ///
  /// If the file is corrupt or is not a database, the method sets it aside and creates a new database. If the database
  /// cannot be opened now, for example because the disk is full, the returned store is closed. In this case, the caller
  /// can try again with `openAgain`.
  /// - Returns: The store, and the database that was set aside, whose contents must be copied with `rescue`.
  /// - Throws: `StoreError`. A database of another program or of a later version of crashd is not changed.
  public static func open(
    path: String, at time: String, fairShare: FairShare = FairShare()
  ) throws(StoreError) -> (ReportStore, SetAside?) {
    let isClosed = StoreError.unavailable(path: path, reason: "it is not open")
    let store = ReportStore(.closed(isClosed, nil), path: path, fairShare: fairShare)
    do throws(StoreError) {
      return (store, try store.openAgain(at: time))
    } catch .unavailable {
      return (store, nil)
    }
  }

  /// Opens the database of a store that is closed.
  /// - Returns: The database that was set aside, whose contents must be copied with `rescue`; nil if none was set
  ///   aside.
  /// - Throws: The errors of `open`, and `unavailable`.
  public func openAgain(at time: String) throws(StoreError) -> SetAside? {
    try Self.translating(path) {
      try writing.withLock { _ in
        guard !isOpen else { return nil }
        var aside = pending
        do throws(StoreError) {
          replace(by: try openOrSetAside(&aside, at: time))
        } catch {
          replace(by: .closed(error, aside))
          throw error
        }
        // Continue the event numbers of the old database before any event is stored. Otherwise, a new event could get a
        // number that the old database has already assigned.
        guard var found = aside else { return nil }
        found.keepsCursors = try takeOverCursors(from: found.path)
        return found
      }
    }
  }

  /// Opens the database, or sets it aside if it is corrupt and creates a new one.
  ///
  /// A database of another program is not treated as corrupt, and stays in its place.
  private func openOrSetAside(_ aside: inout SetAside?, at time: String) throws(StoreError) -> Opened {
    do throws(StoreError) {
      return try Self.translating(path) { try Self.open(path: path) }
    } catch {
      guard error.isCorruption, aside == nil else { throw error }
      aside = SetAside(
        path: try Self.setAside(path: path, at: time), reason: error.description, keepsCursors: false)
    }
    return try Self.translating(path) { try Self.open(path: path) }
  }

  /// Sets the open database aside, and creates a new database, which can store reports immediately.
  /// - Throws: `StoreError.unavailable`. After an error, the store still uses the old database.
  public func startAnew(because reason: String, at time: String) throws(StoreError) -> SetAside {
    try Self.translating(path) {
      try writing.withLock { _ in
        let aside = try Self.setAside(path: path, at: time)
        replace(by: try Self.open(path: path))
        grown.withLock { $0.names = nil }
        let keepsCursors = try takeOverCursors(from: aside)
        return SetAside(path: aside, reason: reason, keepsCursors: keepsCursors)
      }
    }
  }

  /// Copies the readable contents of a database that was set aside to the open database.
  ///
  /// crashd can store crashes during the copying.
  /// - Returns: The numbers of copied and unreadable items.
  /// - Throws: `StoreError.unavailable` if the new database cannot be written.
  public func rescue(_ aside: SetAside) throws(StoreError) -> Rescued {
    guard let old = try? Self.openReadOnly(aside.path) else { return Rescued(isReadable: false) }
    return try Self.translating(path) {
      var rescued = Rescued()
      let last = Self.lastRow(in: old)
      var next: Int64 = 1
      while next <= last {
        let rows = Self.rows(from: next, through: min(last, next + 63), in: old, &rescued)
        rescued.reports += try takeOver(rows, keepsNumbers: aside.keepsCursors)
        next += 64
      }
      takeOverTables(from: old, keepsNumbers: aside.keepsCursors)
      rescued.orphans = Self.orphans(in: old, known: self)
      return rescued
    }
  }

  private static func openReadOnly(_ path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.label = "set aside"
    return try DatabaseQueue(path: path, configuration: configuration)
  }

  /// Continues the event numbers of the old database, so that the cursors of subscribers stay valid.
  ///
  /// This is possible only if the old numbers can be read and the new database has stored no event or incident yet.
  private func takeOverCursors(from aside: String) throws(StoreError) -> Bool {
    let found = try? Self.openReadOnly(aside).read { database in
      (
        try StoreEpoch.stored(in: database)?.epoch,
        try Int64.fetchOne(database, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'reports'"),
        (try? Self.newestIncident(in: database)) ?? 0,
        try Row.fetchAll(database, sql: "SELECT name, uid, acked, time FROM subscribers")
      )
    }
    guard let found, let oldEpoch = found.0, let number = found.1 else {
      return false
    }
    return try Self.translating(path) {
      let pool = try pool
      let isTaken = try pool.write { database in
        guard try Self.newestSequence(in: database) == 0, try Self.newestIncident(in: database) == 0 else {
          return false
        }
        try oldEpoch.write(to: database)
        // Replace the entries in `sqlite_sequence`, which migrations and removed rows have left.
        try database.execute(sql: "DELETE FROM sqlite_sequence WHERE name IN ('reports', 'incidents')")
        try database.execute(
          sql: "INSERT INTO sqlite_sequence (name, seq) VALUES ('reports', ?), ('incidents', ?)",
          arguments: [number, found.2])
        for row in found.3 {
          try database.execute(
            sql: "INSERT OR IGNORE INTO subscribers (name, uid, acked, time) VALUES (?, ?, ?, ?)",
            arguments: StatementArguments(row.databaseValues))
        }
        return true
      }
      if isTaken { replace(by: Opened(pool: pool, epoch: oldEpoch, files: StoreFiles(path))) }
      return isTaken
    }
  }

  private static func lastRow(in old: DatabaseQueue) -> Int64 {
    for sql in ["SELECT max(seq) FROM reports", "SELECT seq FROM sqlite_sequence WHERE name = 'reports'"] {
      if let last = try? old.read({ try Int64.fetchOne($0, sql: sql) }) { return last }
    }
    return 0
  }

  private struct OldRow {
    var sequence: Int64
    var report: CrashReport
    var json: Data
    var raw: Data?
  }

  /// Reads the rows whose event numbers are in a range.
  ///
  /// If one query for all rows fails, the method reads the rows one by one.
  private static func rows(
    from first: Int64, through last: Int64, in old: DatabaseQueue, _ rescued: inout Rescued
  ) -> [OldRow] {
    let fetch = { (first: Int64, last: Int64) in
      try old.read { database in
        try Row.fetchAll(
          database, sql: "SELECT seq, id, '' AS time, json FROM reports WHERE seq BETWEEN ? AND ?",
          arguments: [first, last]
        )
        // Return nil for a damaged row, whose columns can contain values of any type.
        .map { try? EventRow(row: $0) }
      }
    }
    var found: [EventRow?] = []
    do {
      found = try fetch(first, last)
    } catch {
      for number in first...last {
        do { found += try fetch(number, number) } catch { rescued.unreadable += 1 }
      }
    }
    return found.compactMap { row in
      guard let row, let report = try? JSONDecoder().decode(CrashReport.self, from: row.json), report.id == row.id
      else {
        rescued.unreadable += 1
        return nil
      }
      let raw = try? old.read {
        try Data.fetchOne($0, sql: "SELECT bytes FROM raw_records WHERE id = ?", arguments: [row.id])
      }
      return OldRow(sequence: row.seq, report: report, json: row.json, raw: raw)
    }
  }

  private func takeOver(_ rows: [OldRow], keepsNumbers: Bool) throws -> Int {
    try write { database in
      var count = 0
      for row in rows {
        let isThere = try Bool.fetchOne(
          database, sql: "SELECT EXISTS (SELECT 1 FROM reports WHERE id = ?)", arguments: [row.report.id])
        guard isThere == false else { continue }
        try Self.insert(
          row.report, json: row.json, raw: row.raw.map { Array($0) }, as: keepsNumbers ? row.sequence : nil,
          into: database)
        count += 1
      }
      return count
    }
  }

  private static func orphans(in old: DatabaseQueue, known: ReportStore) -> [Orphan] {
    let ids = (try? old.read { try String.fetchAll($0, sql: "SELECT id FROM raw_records") }) ?? []
    var orphans: [Orphan] = []
    for id in ids where orphans.count < orphanLimit {
      let isKnown = try? known.opened.pool.read {
        try Bool.fetchOne($0, sql: "SELECT EXISTS (SELECT 1 FROM reports WHERE id = ?)", arguments: [id])
      }
      guard isKnown == false,
        let raw = try? old.read({
          try Data.fetchOne($0, sql: "SELECT bytes FROM raw_records WHERE id = ?", arguments: [id])
        })
      else { continue }
      orphans.append(Orphan(id: id, raw: Array(raw)))
    }
    return orphans
  }
}
