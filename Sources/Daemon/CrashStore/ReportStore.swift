import FoundationEssentials
import GRDB
import Glibc
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
    var epoch: StoreEpoch
    var files: StoreFiles
  }

  enum State {
    case open(Opened)
    /// Such as on a full disk; with what was set aside, and is not taken over yet.
    case closed(StoreError, SetAside?)
  }

  private let state: Mutex<State>
  /// Held while something is written, and while the database is replaced: nothing goes into the one that is set aside.
  let writing = Mutex<Void>(())
  /// Decides whose rows are evicted when there are too many.
  let fairShare: FairShare
  let fullShares = FullShares()
  /// Groups that may have more reports than retention allows.
  let grown = Mutex(GrownGroups())

  /// Opens the database, or makes it.
  /// - Throws: `StoreError` `notADatabase`, `corrupt`, `tooNew` or `unavailable`. An existing file is never overwritten.
  public convenience init(path: String, fairShare: FairShare = FairShare()) throws(StoreError) {
    self.init(.open(try Self.translating(path) { try Self.open(path: path) }), path: path, fairShare: fairShare)
  }

  init(_ state: State, path: String, fairShare: FairShare) {
    self.path = path
    self.fairShare = fairShare
    self.state = Mutex(state)
  }

  /// Whether the database is open; else every call fails with `unavailable`, until `openAgain` succeeds.
  public var isOpen: Bool { if case .open = state.withLock({ $0 }) { true } else { false } }

  /// Why it is not; nil: it is open.
  public var whyClosed: StoreError? { if case .closed(let error, _) = state.withLock({ $0 }) { error } else { nil } }

  /// Part of every cursor; that of no store while the database is not open.
  public var epoch: StoreEpoch { (try? current.1) ?? .none }
  var pool: DatabasePool { get throws(StoreError) { try current.0 } }

  /// Both of one moment.
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

  /// What waits for a database to be taken over into.
  var pending: SetAside? {
    if case .closed(_, let aside) = state.withLock({ $0 }) { aside } else { nil }
  }

  func replace(by new: State) { state.withLock { $0 = new } }

  /// Readers of the old one go on until they have ended.
  func replace(by new: Opened) { replace(by: .open(new)) }

  /// Runs a transaction in the database that is open now.
  ///
  /// Ordering: the database is not replaced meanwhile, so that no write goes into one that was set aside.
  func write<Value: Sendable>(_ updates: (Database) throws -> Value) throws -> Value {
    try writing.withLock { _ in try pool.write(updates) }
  }

  /// The same without a transaction.
  func writeWithoutTransaction<Value: Sendable>(_ updates: (Database) throws -> Value) throws -> Value {
    try writing.withLock { _ in try pool.writeWithoutTransaction(updates) }
  }

  /// The same, with the epoch of that database.
  func writeInEpoch<Value: Sendable>(_ updates: (Database, StoreEpoch) throws -> Value) throws -> Value {
    try writing.withLock { _ in
      let (pool, epoch) = try current
      return try pool.write { try updates($0, epoch) }
    }
  }

  /// Closes the database; later calls fail with `unavailable`.
  public func close() throws(StoreError) {
    guard isOpen else { return }
    let pool = try pool
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

// A report has what its process had in memory: its database is for its owner alone, wherever it lies and whatever the umask.
extension ReportStore {
  /// Makes an empty file where there is none, before SQLite does: its log takes its mode.
  static func makePrivately(_ path: String) {
    let number = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    // It is there, or cannot be made: SQLite says so.
    if number >= 0 { Glibc.close(number) }
  }

  /// The same of a database that is ours and was made otherwise.
  static func keepPrivate(_ path: String) {
    for suffix in ["", "-wal", "-shm"] { _ = unsafe chmod(path + suffix, 0o600) }
  }
}
