import GRDB
import Glibc
import LinuxSystem
import Synchronization

// Recovers if the database file was removed or replaced while the database was open. The contents of the deleted file
// exist until the database is closed.
extension ReportStore {
  /// Returns what happened to the database files, as text.
  ///
  /// Returns nil if the files were neither removed nor replaced, or if the database is not open. Complexity: two calls
  /// of `lstat`.
  public func displacement() -> String? {
    guard let files = try? opened.files else { return nil }
    return files.change(at: path)
  }

  /// Writes the contents of the open database to a new file at the same path, and then uses this new file.
  ///
  /// If another file is now at this path, the method renames it and never deletes it. Cursors stay valid, because the
  /// new database is an exact copy.
  /// - Parameter time: The current time, which becomes a part of the new name of the other file.
  /// - Returns: The new name of the other file; nil if there was no other file.
  /// - Throws: `StoreError.unavailable`. After an error, the store continues to use the open database, which still has
  ///   all data.
  public func writeAnew(at time: String) throws(StoreError) -> String? {
    let path = path
    return try Self.translating(path) {
      try writing.withLock { _ in
        let old = try opened
        try Self.makeDirectory(of: path)
        let copy = path + ".new"
        // The open connection makes the copy, because a new connection would open the other file at the path.
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

  /// Renames a file that was put at the path in place of the open database, and returns its new name; nil if there is
  /// none.
  ///
  /// If the write-ahead log at the path belongs to the other file, it is renamed, too, because it can contain
  /// transactions that this file lacks. Otherwise, the log is deleted.
  private static func setAside(_ path: String, _ files: StoreFiles, at time: String) throws -> String? {
    let isReplaced = unsafe access(path, F_OK) == 0 && !files.isDatabase(at: path)
    if !isReplaced || files.isLog(at: path) { _ = unsafe unlink(path + "-wal") }
    // Delete the index of the log (`-shm`). SQLite creates the index again when it opens the log.
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
