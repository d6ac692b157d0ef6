import Glibc

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
