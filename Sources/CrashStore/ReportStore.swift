import FoundationEssentials
import GRDB

/// Reports on disk: one SQLite database with a write-ahead log.
///
/// Every call may block on the disk; reads run beside one another and beside a write. Safe from any thread.
public final class ReportStore: Sendable {
  /// The database's path.
  public let path: String
  /// Random for each store; part of every cursor.
  public let epoch: String
  let pool: DatabasePool

  /// Opens the database, or makes it.
  /// - Throws: `StoreError` `notADatabase`, `tooNew` or `unavailable`. An existing file is never overwritten.
  public init(path: String) throws(StoreError) {
    self.path = path
    let path = path
    (pool, epoch) = try Self.translating(path) {
      try Self.open(path: path)
    }
  }

  /// Closes the database; later calls fail with `unavailable`.
  public func close() throws(StoreError) {
    let pool = pool
    try Self.translating(path) { try pool.close() }
  }

  private static func open(path: String) throws -> (DatabasePool, String) {
    var configuration = Configuration()
    configuration.busyMode = .timeout(5)
    configuration.maximumReaderCount = 4
    configuration.label = "reports"
    configuration.prepareDatabase { database in
      // A crash of the machine may lose the last transactions, never the database: SQLite's documented WAL promise.
      try database.execute(sql: "PRAGMA synchronous = NORMAL")
    }
    let pool = try DatabasePool(path: path, configuration: configuration)
    do {
      try claim(pool, path: path)
      let migrator = StoreSchema.migrator
      if try pool.read({ try migrator.hasBeenSuperseded($0) }) {
        throw StoreError.tooNew(path: path, version: "schema beyond v6")
      }
      try migrator.migrate(pool)
      let epoch = try pool.read { database in
        try String.fetchOne(database, sql: "SELECT value FROM meta WHERE key = 'epoch'")
      }
      guard let epoch, epoch.count == StoreCursor.epochDigits else { throw StoreError.notADatabase(path: path) }
      return (pool, epoch)
    } catch {
      // The first error is the one to tell; closing what could not be used has nothing to add.
      do { try pool.close() } catch _ {}
      throw error
    }
  }

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
    } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
      throw .notADatabase(path: path)
    } catch {
      throw .unavailable(path: path, reason: "\(error)")
    }
  }
}
