import GRDB
import Glibc
import LinuxSystem
import Synchronization

// Handling of a database whose file was removed or replaced while it is open. Its contents exist until it is closed.
extension ReportStore {
  /// Returns what happened to the files of the database; nil if they are in place or if the database is not open.
  ///
  /// Complexity: two calls of lstat.
  public func displacement() -> String? {
    guard let files = try? opened.files else { return nil }
    return files.change(at: path)
  }

  /// Writes the contents of the open database to a new file at the same path, and continues with the new file.
  ///
  /// If another file is at the path, it is renamed and never deleted. Readers and cursors stay valid, because the copy
  /// is exact.
  /// - Parameter time: Part of the new name.
  /// - Returns: The new name of the other file; nil if there was no other file.
  /// - Throws: `StoreError.unavailable`. The open database then stays in use and still has everything.
  public func writeAnew(at time: String) throws(StoreError) -> String? {
    let path = path
    return try Self.translating(path) {
      try writing.withLock { _ in
        let old = try opened
        try Self.makeDirectory(of: path)
        let copy = path + ".new"
        // The writer makes the copy, because a new reader would open the file that is now at the path.
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

  /// A log that belongs to another database is kept with it, because the log may have transactions that are not in the
  /// file.
  private static func setAside(_ path: String, _ files: StoreFiles, at time: String) throws -> String? {
    let isReplaced = unsafe access(path, F_OK) == 0 && !files.isDatabase(at: path)
    if !isReplaced || files.isLog(at: path) { _ = unsafe unlink(path + "-wal") }
    // The index of a log is created again when the log is opened.
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
