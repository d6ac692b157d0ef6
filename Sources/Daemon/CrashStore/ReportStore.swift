import FoundationEssentials
import GRDB
import Glibc
import Synchronization

/// Reports on disk, in one SQLite database with a write-ahead log.
///
/// Every call may block on the disk. Reads run concurrently with each other and with a write. All methods may be called
/// from any thread.
public final class ReportStore: Sendable {
  /// The path of the database.
  public let path: String
  /// The open database.
  ///
  /// It is replaced when a corrupt database is set aside.
  struct Opened {
    var pool: DatabasePool
    var epoch: StoreEpoch
    var files: StoreFiles
  }

  enum State {
    case open(Opened)
    /// The database cannot be opened, for example on a full disk.
    ///
    /// `SetAside` is a database that was set aside and not yet recovered.
    case closed(StoreError, SetAside?)
  }

  private let state: Mutex<State>
  /// Held while data is written and while the database is replaced, so that no write goes into a database that was set
  /// aside.
  let writing = Mutex<Void>(())
  /// Decides whose rows are evicted if there are too many.
  let fairShare: FairShare
  let fullShares = FullShares()
  /// Groups that may have more reports than retention allows.
  let grown = Mutex(GrownGroups())

  /// Opens the database, or creates it.
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
  /// If not, every call fails with `unavailable` until `openAgain` succeeds.
  public var isOpen: Bool { if case .open = state.withLock({ $0 }) { true } else { false } }

  /// The reason why the database is not open; nil if it is open.
  public var whyClosed: StoreError? { if case .closed(let error, _) = state.withLock({ $0 }) { error } else { nil } }

  /// A part of every cursor.
  ///
  /// If the database is not open, it is the epoch of no store.
  public var epoch: StoreEpoch { (try? current.1) ?? .none }
  var pool: DatabasePool { get throws(StoreError) { try current.0 } }

  /// The database and its epoch, both from the same moment.
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

  /// A database that was set aside and waits to be recovered into a new database.
  var pending: SetAside? {
    if case .closed(_, let aside) = state.withLock({ $0 }) { aside } else { nil }
  }

  func replace(by new: State) { state.withLock { $0 = new } }

  /// Replaces the open database.
  ///
  /// Current readers of the old database continue until they end.
  func replace(by new: Opened) { replace(by: .open(new)) }

  /// Runs a transaction in the currently open database.
  ///
  /// Ordering: the database cannot be replaced during the transaction, so no write goes into a database that was set
  /// aside.
  func write<Value: Sendable>(_ updates: (Database) throws -> Value) throws -> Value {
    try writing.withLock { _ in try pool.write(updates) }
  }

  /// Runs writes without a transaction in the currently open database.
  func writeWithoutTransaction<Value: Sendable>(_ updates: (Database) throws -> Value) throws -> Value {
    try writing.withLock { _ in try pool.writeWithoutTransaction(updates) }
  }

  /// Runs a transaction in the currently open database, and passes the epoch of that database.
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
      // The log is merged into the database file, so that the file is complete without the log.
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
      // If the machine crashes, the last transactions may be lost, but the database stays intact, as SQLite documents
      // for WAL.
      try database.execute(sql: "PRAGMA synchronous = NORMAL")
      // Allows free pages to be returned to the file system. Has no effect on a database that already has tables.
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
      // Only the first error is reported. An error of closing an unusable database adds no information.
      do { try pool.close() } catch _ {}
      throw error
    }
  }

  /// Converts a database of an older crashd so that it can return free pages.
  ///
  /// A large database is not converted, because that would take long.
  private static func giveBackPages(of pool: DatabasePool) throws {
    try pool.writeWithoutTransaction { database in
      let mode = try Int.fetchOne(database, sql: "PRAGMA auto_vacuum") ?? 0
      let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
      if mode == 0, pages < 16_384 { try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL; VACUUM") }
    }
  }

  /// Increases the cache and the size of the log.
  ///
  /// Rows that a busy writer reads repeatedly stay in memory, and the log is merged into the database less often. Each
  /// limit is the maximum number of bytes used.
  private static func giveRoom(to pool: DatabasePool) throws {
    try pool.writeWithoutTransaction { database in
      // A negative value is a size in KiB.
      try database.execute(sql: "PRAGMA cache_size = -\(writerCacheKiB)")
      _ = try Int.fetchOne(database, sql: "PRAGMA wal_autocheckpoint = \(logPages)")
    }
  }

  private static let writerCacheKiB = 8_192
  /// The maximum number of pages in the log, 4 KiB each.
  private static let logPages = 2_500

  /// Refuses a database of another program, and marks an empty database as crashd's.
  private static func claim(_ pool: DatabasePool, path: String) throws {
    try pool.write { database in
      let mark = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
      if mark == StoreSchema.applicationID { return }
      let tables = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") ?? 0
      guard mark == 0, tables == 0 else { throw StoreError.notADatabase(path: path) }
      try database.execute(sql: "PRAGMA application_id = \(StoreSchema.applicationID)")
    }
  }

  /// Converts errors of the database to `StoreError`.
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

// Reports contain memory of processes. Therefore only the owner may access the database, whatever its directory and the
// umask are.
extension ReportStore {
  /// Creates an empty file if none exists, before SQLite does.
  ///
  /// SQLite gives its log the same mode.
  static func makePrivately(_ path: String) {
    let number = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    // The file exists or cannot be created. In the second case SQLite reports the error.
    if number >= 0 { Glibc.close(number) }
  }

  /// Restricts the mode of an existing database that belongs to crashd.
  static func keepPrivate(_ path: String) {
    for suffix in ["", "-wal", "-shm"] { _ = unsafe chmod(path + suffix, 0o600) }
  }
}
