import GRDB
import Glibc
import LinuxSystem
import Synchronization

// A database whose file was removed or replaced while it is open: its content is there until it is closed.
extension ReportStore {
  /// What has become of the database's files; nil: they are where they were, or the database is not open.
  ///
  /// Complexity: two calls of lstat.
  public func displacement() -> String? {
    guard let files = try? opened.files else { return nil }
    return files.change(at: path)
  }

  /// Writes what the open database holds to a new file in its place, and goes on with that.
  ///
  /// Another file that stands there is renamed, never deleted. Readers and cursors stay good: the copy is exact.
  /// - Parameter time: Part of the new name.
  /// - Returns: What the other file is called now; nil: there was none.
  /// - Throws: `StoreError.unavailable`: the open database stays in use, and still holds everything.
  public func writeAnew(at time: String) throws(StoreError) -> String? {
    let path = path
    return try Self.translating(path) {
      try writing.withLock { _ in
        let old = try opened
        try Self.makeDirectory(of: path)
        let copy = path + ".new"
        // By the writer: a reader that is new would open what stands under the path.
        return try old.pool.writeWithoutTransaction { database in
          try Self.copy(database, to: copy)
          let aside = try Self.setAside(path, old.files, at: time)
          guard unsafe rename(copy, path) == 0 else { throw Self.failure("rename '\(copy)'", path) }
          replace(by: try Self.open(path: path))
          return aside
        }
      }
    }
  }

  private static func copy(_ database: Database, to path: String) throws {
    for suffix in ["", "-journal", "-wal", "-shm"] { _ = unsafe unlink(path + suffix) }
    makePrivately(path)
    let copy = try DatabaseQueue(path: path)
    do {
      try copy.writeWithoutTransaction { try database.backup(to: $0) }
      try copy.close()
    } catch {
      do { try copy.close() } catch _ {}
      _ = unsafe unlink(path)
      throw error
    }
  }

  /// A log that another database brought stays with it: it may hold transactions that its file lacks.
  private static func setAside(_ path: String, _ files: StoreFiles, at time: String) throws -> String? {
    let isReplaced = unsafe access(path, F_OK) == 0 && !files.isDatabase(at: path)
    if !isReplaced || files.isLog(at: path) { _ = unsafe unlink(path + "-wal") }
    // The index of a log is made anew.
    _ = unsafe unlink(path + "-shm")
    guard isReplaced else { return nil }
    return try setAside(path: path, as: "replaced", at: time)
  }

  private static func makeDirectory(of path: String) throws {
    guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
    let directory = String(path[..<slash])
    guard unsafe mkdir(directory, 0o700) == 0 || errno == EEXIST else {
      throw failure("make the directory '\(directory)'", path)
    }
  }

  private static func failure(_ what: String, _ path: String) -> StoreError {
    .unavailable(path: path, reason: "\(SystemError(what))")
  }
}
