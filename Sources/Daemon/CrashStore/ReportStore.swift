import FoundationEssentials
import GRDB
import Glibc
import Synchronization

/// Stores reports on disk, in one SQLite database with a write-ahead log.
///
/// Every call may block on the disk. Reads run concurrently with each other and with one write. All methods may be
/// called from any thread.
public final class ReportStore: Sendable {
  /// The path of the database.
  public let path: String
  /// The open database, with its epoch.
  ///
  /// It is replaced when a corrupt database is set aside.
  struct Opened {
    var pool: DatabasePool
    var epoch: StoreEpoch
    var files: StoreFiles
  }

  enum State {
    case open(Opened)
    /// The database cannot be opened at the moment, for example because the disk is full.
    ///
    /// `SetAside` is a database that was set aside and whose contents are not copied yet.
    case closed(StoreError, SetAside?)
  }

  private let state: Mutex<State>
  /// This lock is held during each write and while the database is replaced.
  ///
  /// Therefore no write goes into a database that was set aside.
  let writing = Mutex<Void>(())
  /// Determines whose rows are evicted if there are too many rows.
  let fairShare: FairShare
  let fullShares = FullShares()
  /// The groups that may have more reports than the retention policy allows.
  let grown = Mutex(GrownGroups())

  /// Opens the database.
  ///
  /// If it does not exist, creates it.
  /// - Throws: `StoreError` `notADatabase`, `corrupt`, `tooNew` or `unavailable`. An existing file is never
  ///   overwritten.
  public convenience init(path: String, fairShare: FairShare = FairShare()) throws(StoreError) {
    self.init(.open(try Self.translating(path) { try Self.open(path: path) }), path: path, fairShare: fairShare)
  }

  init(_ state: State, path: String, fairShare: FairShare) {
    self.path = path
    self.fairShare = fairShare
    self.state = Mutex(state)
  }

  /// Whether the database is open.
  ///
  /// If it is not open, every call fails with `unavailable` until `openAgain` succeeds.
  public var isOpen: Bool { if case .open = state.withLock({ $0 }) { true } else { false } }

  /// The reason why the database is not open; nil if it is open.
  public var whyClosed: StoreError? { if case .closed(let error, _) = state.withLock({ $0 }) { error } else { nil } }

  /// The epoch is a part of every cursor.
  ///
  /// If the database is not open, this is the epoch `none`.
  public var epoch: StoreEpoch { (try? current.1) ?? .none }
  var pool: DatabasePool { get throws(StoreError) { try current.0 } }

  /// The database and its epoch, read together.
  var current: (DatabasePool, StoreEpoch) {
    get throws(StoreError) {
      let opened = try opened
      return (opened.pool, opened.epoch)
    }
  }

  var opened: Opened {
    get throws(StoreError) {
      switch state.withLock({ $0 }) {
      case .open(let opened): return opened
      case .closed(let error, _): throw error
      }
    }
  }

  /// A database that was set aside, and whose contents must still be copied to the new database.
  var pending: SetAside? {
    if case .closed(_, let aside) = state.withLock({ $0 }) { aside } else { nil }
  }

  func replace(by new: State) { state.withLock { $0 = new } }

  /// Replaces the open database.
  ///
  /// Reads that already use the old database continue until they end.
  func replace(by new: Opened) { replace(by: .open(new)) }

  /// Runs a transaction in the currently open database.
  ///
  /// Ordering: the database cannot be replaced during the transaction, so the transaction cannot go into a database
  /// that was set aside.
  func write<Value: Sendable>(_ updates: (Database) throws -> Value) throws -> Value {
    try writing.withLock { _ in try pool.write(updates) }
  }

  /// Writes to the currently open database without a transaction.
  func writeWithoutTransaction<Value: Sendable>(_ updates: (Database) throws -> Value) throws -> Value {
    try writing.withLock { _ in try pool.writeWithoutTransaction(updates) }
  }

  /// Runs a transaction in the currently open database, and passes that database's epoch to `updates`.
  func writeInEpoch<Value: Sendable>(_ updates: (Database, StoreEpoch) throws -> Value) throws -> Value {
    try writing.withLock { _ in
      let (pool, epoch) = try current
      return try pool.write { try updates($0, epoch) }
    }
  }

  /// Closes the database.
  ///
  /// Later calls fail with `unavailable`.
  public func close() throws(StoreError) {
    guard isOpen else { return }
    let pool = try pool
    try Self.translating(path) {
      // The write-ahead log is merged into the database file, so that the file is complete without it.
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
      // If the machine crashes, the last transactions may be lost, but the database stays intact. SQLite documents this
      // for WAL mode.
      try database.execute(sql: "PRAGMA synchronous = NORMAL")
      // This setting allows SQLite to return free pages to the file system. It has no effect on a database that already
      // has tables.
      if !database.configuration.readonly { try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
    }
    makePrivately(path)
    let pool = try DatabasePool(path: path, configuration: configuration)
    do {
      try claim(pool, path: path)
      keepPrivate(path)
      let migrator = StoreSchema.migrator
      if try pool.read({ try migrator.hasBeenSuperseded($0) }) {
        throw StoreError.tooNew(path: path, version: "schema beyond \(StoreSchema.version)")
      }
      try migrator.migrate(pool)
      guard let epoch = try StoreEpoch.kept(in: pool) else {
        throw StoreError.corrupt(path: path, reason: "it has no epoch")
      }
      try giveBackPages(of: pool)
      try giveRoom(to: pool)
      return Opened(pool: pool, epoch: epoch, files: StoreFiles(path))
    } catch {
      // Only the first error is reported, and an error while closing is ignored. It would add no information, because
      // the database is already unusable.
      do { try pool.close() } catch _ {}
      throw error
    }
  }

  /// Converts a database that an older crashd created, so that it can return free pages to the file system.
  ///
  /// A large database is not converted, because the conversion would take too long.
  private static func giveBackPages(of pool: DatabasePool) throws {
    try pool.writeWithoutTransaction { database in
      let mode = try Int.fetchOne(database, sql: "PRAGMA auto_vacuum") ?? 0
      let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
      if mode == 0, pages < 16_384 { try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL; VACUUM") }
    }
  }

  /// Increases the size of SQLite's page cache and of the write-ahead log.
  ///
  /// With the larger cache, rows that a busy writer reads repeatedly stay in memory. With the larger log, it is merged
  /// into the database less often. Both values are maximum sizes.
  private static func giveRoom(to pool: DatabasePool) throws {
    try pool.writeWithoutTransaction { database in
      // A negative value is a size in KiB.
      try database.execute(sql: "PRAGMA cache_size = -\(writerCacheKiB)")
      _ = try Int.fetchOne(database, sql: "PRAGMA wal_autocheckpoint = \(logPages)")
    }
  }

  private static let writerCacheKiB = 8_192
  /// The maximum number of pages in the write-ahead log.
  ///
  /// A page has 4 KiB.
  private static let logPages = 2_500

  /// Refuses a database that belongs to another program, and marks an empty database as crashd's.
  private static func claim(_ pool: DatabasePool, path: String) throws {
    try pool.write { database in
      let mark = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
      if mark == StoreSchema.applicationID { return }
      let tables = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") ?? 0
      guard mark == 0, tables == 0 else { throw StoreError.notADatabase(path: path) }
      try database.execute(sql: "PRAGMA application_id = \(StoreSchema.applicationID)")
    }
  }

  /// Runs `body`, and converts errors of SQLite to `StoreError`.
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

// Restricts access to the database files, because reports contain memory of processes. Only the owner may access the
// files, whatever the directory and the umask allow.
extension ReportStore {
  /// Creates an empty file with mode 0600 if there is none, before SQLite creates it.
  ///
  /// SQLite gives its log files the same mode.
  static func makePrivately(_ path: String) {
    let number = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    // If the call fails, the file exists already or cannot be created. In the second case, SQLite reports the error
    // later.
    if number >= 0 { Glibc.close(number) }
  }

  /// Restricts the mode of an existing database if the file belongs to crashd's user.
  static func keepPrivate(_ path: String) {
    for suffix in ["", "-wal", "-shm"] { _ = unsafe chmod(path + suffix, 0o600) }
  }
}
