import FoundationEssentials
import GRDB
import Synchronization

/// Reports on disk: one SQLite database with a write-ahead log.
///
/// Every call may block on the disk; reads run beside one another and beside a write. Safe from any thread.
public final class ReportStore: Sendable {
  /// The database's path.
  public let path: String
  /// The open database: another one after a corrupt one was set aside.
  struct Opened {
    var pool: DatabasePool
    var epoch: String
  }

  private let opened: Mutex<Opened>
  /// Held while a report is written, and while the database is replaced: no report goes into the one that is set aside.
  let writing = Mutex<Void>(())
  /// Groups that may have more reports than retention allows.
  let grown = Mutex(GrownGroups())

  /// Opens the database, or makes it.
  /// - Throws: `StoreError` `notADatabase`, `corrupt`, `tooNew` or `unavailable`. An existing file is never overwritten.
  public init(path: String) throws(StoreError) {
    self.path = path
    let path = path
    opened = Mutex(try Self.translating(path) { try Self.open(path: path) })
  }

  /// Random for each store; part of every cursor.
  public var epoch: String { opened.withLock { $0.epoch } }
  var pool: DatabasePool { opened.withLock { $0.pool } }

  /// Both of one moment.
  var current: (DatabasePool, String) { opened.withLock { ($0.pool, $0.epoch) } }

  /// Whoever uses the old one still does so until he has ended.
  func replace(by new: Opened) { opened.withLock { $0 = new } }

  /// Closes the database; later calls fail with `unavailable`.
  public func close() throws(StoreError) {
    let pool = pool
    try Self.translating(path) {
      // The log's content goes into the database, so that neither is of use without the other for no longer than needed.
      do {
        _ = try pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
      } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {}
      try pool.close()
    }
  }

  static func open(path: String) throws -> Opened {
    var configuration = Configuration()
    configuration.busyMode = .timeout(5)
    configuration.maximumReaderCount = 4
    configuration.label = "reports"
    configuration.prepareDatabase { database in
      // A crash of the machine may lose the last transactions, never the database: SQLite's documented WAL promise.
      try database.execute(sql: "PRAGMA synchronous = NORMAL")
      // Pages that are free can be given back to the file system; of no effect on a database that has tables already.
      if !database.configuration.readonly { try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
    }
    makePrivately(path)
    let pool = try DatabasePool(path: path, configuration: configuration)
    do {
      try claim(pool, path: path)
      keepPrivate(path)
      let migrator = StoreSchema.migrator
      if try pool.read({ try migrator.hasBeenSuperseded($0) }) {
        throw StoreError.tooNew(path: path, version: "schema beyond v8")
      }
      try migrator.migrate(pool)
      let epoch = try pool.read { database in
        try String.fetchOne(database, sql: "SELECT value FROM meta WHERE key = 'epoch'")
      }
      guard let epoch, epoch.count == StoreCursor.epochDigits else {
        throw StoreError.corrupt(path: path, reason: "it has no epoch")
      }
      try giveBackPages(of: pool)
      try giveRoom(to: pool)
      return Opened(pool: pool, epoch: epoch)
    } catch {
      // The first error is the one to tell; closing what could not be used has nothing to add.
      do { try pool.close() } catch _ {}
      throw error
    }
  }

  /// A database of an older crashd keeps its free pages until it is written anew once; a large one goes on keeping them.
  private static func giveBackPages(of pool: DatabasePool) throws {
    try pool.writeWithoutTransaction { database in
      let mode = try Int.fetchOne(database, sql: "PRAGMA auto_vacuum") ?? 0
      let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
      if mode == 0, pages < 16_384 { try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL; VACUUM") }
    }
  }

  /// What one who writes many reports a second reads again and again stays in memory, and the log goes into the database
  /// less often; both cost as many bytes as they say, at most.
  private static func giveRoom(to pool: DatabasePool) throws {
    try pool.writeWithoutTransaction { database in
      // Negative: KiB.
      try database.execute(sql: "PRAGMA cache_size = -\(writerCacheKiB)")
      _ = try Int.fetchOne(database, sql: "PRAGMA wal_autocheckpoint = \(logPages)")
    }
  }

  private static let writerCacheKiB = 8_192
  /// Of 4 KiB each.
  private static let logPages = 2_500

  /// Refuses another program's database; marks an empty one as ours.
  private static func claim(_ pool: DatabasePool, path: String) throws {
    try pool.write { database in
      let mark = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
      if mark == StoreSchema.applicationID { return }
      let tables = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") ?? 0
      guard mark == 0, tables == 0 else { throw StoreError.notADatabase(path: path) }
      try database.execute(sql: "PRAGMA application_id = \(StoreSchema.applicationID)")
    }
  }

  /// Turns the database's errors into ours.
  static func translating<Value>(_ path: String, _ body: () throws -> Value) throws(StoreError) -> Value {
    do {
      return try body()
    } catch let error as StoreError {
      throw error
    } catch let error as DatabaseError where [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode) {
      throw .corrupt(path: path, reason: error.message ?? "malformed")
    } catch {
      throw .unavailable(path: path, reason: "\(error)")
    }
  }
}
