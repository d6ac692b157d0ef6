import FoundationEssentials
import GRDB
import Glibc
import Synchronization

/// Stores reports on disk, in one SQLite database with a write-ahead log.
///
/// Every method can block while it waits for the disk. Reads run concurrently with each other and with one write. All
/// methods can be called from any thread.
public final class ReportStore: Sendable {
  /// The path of the database.
  public let path: String
  /// The open database and its epoch (the ID and key for cursors).
  ///
  /// The value is replaced when crashd sets a corrupt database aside: crashd renames it and creates a new one.
  struct Opened {
    var pool: DatabasePool
    var epoch: StoreEpoch
    var files: StoreFiles
  }

  enum State {
    case open(Opened)
    /// The database cannot be opened now, for example because the disk is full.
    ///
    /// The associated value `SetAside` is a database that was set aside and whose contents are not copied yet.
    case closed(StoreError, SetAside?)
  }

  private let state: Mutex<State>
  /// The lock that a thread holds during each write, and while it replaces the database.
  ///
  /// Therefore, no write changes a database that was set aside.
  let writing = Mutex<Void>(())
  /// Decides which user's rows are evicted if there are too many rows.
  let fairShare: FairShare
  let fullShares = FullShares()
  /// The groups that may have more reports than the retention policy permits.
  let grown = Mutex(GrownGroups())

  /// Opens the database, or creates it if it does not exist.
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
  /// While the database is not open, every call fails with `unavailable`, until `openAgain` succeeds.
  public var isOpen: Bool { if case .open = state.withLock({ $0 }) { true } else { false } }

  /// The reason why the database is not open; nil if it is open.
  public var whyClosed: StoreError? { if case .closed(let error, _) = state.withLock({ $0 }) { error } else { nil } }

  /// The epoch of the database: its ID, which is a part of every cursor, and the key for cursors.
  ///
  /// If the database is not open, the value is `StoreEpoch.none`.
  public var epoch: StoreEpoch { (try? current.1) ?? .none }
  var pool: DatabasePool { get throws(StoreError) { try current.0 } }

  /// The open database and its epoch, which belong together.
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

  /// A database that was set aside and whose contents must still be copied to the new database; nil if there is none.
  var pending: SetAside? {
    if case .closed(_, let aside) = state.withLock({ $0 }) { aside } else { nil }
  }

  func replace(by new: State) { state.withLock { $0 = new } }

  /// Replaces the open database with another database.
  ///
  /// Reads that have begun continue in the old database.
  func replace(by new: Opened) { replace(by: .open(new)) }

  /// Runs a transaction in the database that is open now.
  ///
  /// Ordering: the database cannot be replaced during the transaction, so the transaction never changes a database that
  /// was set aside.
  func write<Value: Sendable>(_ updates: (Database) throws -> Value) throws -> Value {
    try writing.withLock { _ in try pool.write(updates) }
  }

  /// Writes to the database that is open now, without a transaction.
  func writeWithoutTransaction<Value: Sendable>(_ updates: (Database) throws -> Value) throws -> Value {
    try writing.withLock { _ in try pool.writeWithoutTransaction(updates) }
  }

  /// Runs a transaction in the database that is open now, and passes the epoch of this database to the closure
  /// `updates`.
  func writeInEpoch<Value: Sendable>(_ updates: (Database, StoreEpoch) throws -> Value) throws -> Value {
    try writing.withLock { _ in
      let (pool, epoch) = try current
      return try pool.write { try updates($0, epoch) }
    }
  }

  /// Closes the database.
  ///
  /// After this call, every method fails with `unavailable`.
  public func close() throws(StoreError) {
    guard isOpen else { return }
    let pool = try pool
    try Self.translating(path) {
      // Merge the write-ahead log into the database file, so that this file is complete.
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
      // With `synchronous = NORMAL`, a crash of the machine can lose the last transactions, but does not damage the
      // database. SQLite documents this property for databases in WAL mode.
      try database.execute(sql: "PRAGMA synchronous = NORMAL")
      // The setting `auto_vacuum` allows SQLite to return free pages to the file system. The setting has no effect on a
      // database that already has tables.
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
      // Report only the first error, and ignore an error of `close`. The second error would add no information, because
      // the database cannot be used anyway.
      do { try pool.close() } catch _ {}
      throw error
    }
  }

  /// Converts a database that an older crashd created, so that it can return free pages to the file system.
  ///
  /// A large database is not converted, because the conversion would take too much time.
  private static func giveBackPages(of pool: DatabasePool) throws {
    try pool.writeWithoutTransaction { database in
      let mode = try Int.fetchOne(database, sql: "PRAGMA auto_vacuum") ?? 0
      let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
      if mode == 0, pages < 16_384 { try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL; VACUUM") }
    }
  }

  /// Increases the maximum sizes of SQLite's page cache and of the write-ahead log.
  ///
  /// With a larger cache than the default, rows that crashd reads and writes repeatedly stay in memory. With a larger
  /// log than the default, SQLite merges the log into the database less often. SQLite uses this space only if
  /// necessary.
  private static func giveRoom(to pool: DatabasePool) throws {
    try pool.writeWithoutTransaction { database in
      // Pass a negative value, because SQLite interprets it as a size in KiB.
      try database.execute(sql: "PRAGMA cache_size = -\(writerCacheKiB)")
      _ = try Int.fetchOne(database, sql: "PRAGMA wal_autocheckpoint = \(logPages)")
    }
  }

  private static let writerCacheKiB = 8_192
  /// The number of pages in the write-ahead log after which SQLite merges the log into the database.
  ///
  /// A page has 4 KiB.
  private static let logPages = 2_500

  /// Rejects a database that belongs to another program, and marks an empty database as crashd's database.
  private static func claim(_ pool: DatabasePool, path: String) throws {
    try pool.write { database in
      let mark = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
      if mark == StoreSchema.applicationID { return }
      let tables = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") ?? 0
      guard mark == 0, tables == 0 else { throw StoreError.notADatabase(path: path) }
      try database.execute(sql: "PRAGMA application_id = \(StoreSchema.applicationID)")
    }
  }

  /// Runs `body`, and converts SQLite errors to `StoreError`.
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

// Restricts access to the database files, because reports contain the memory of processes. Only the owner is allowed to
// access the files, even if the modes of the directory and the umask permit more.
extension ReportStore {
  /// Creates an empty database file with mode 0600 if it does not exist, before SQLite creates it with another mode.
  ///
  /// SQLite creates its log files with the mode of the database file.
  static func makePrivately(_ path: String) {
    let number = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    // Ignore an error: the file already exists, or SQLite later reports that it cannot be created.
    if number >= 0 { Glibc.close(number) }
  }

  /// Restricts the mode of an existing database file, if the file belongs to crashd's user.
  static func keepPrivate(_ path: String) {
    for suffix in ["", "-wal", "-shm"] { _ = unsafe chmod(path + suffix, 0o600) }
  }
}
