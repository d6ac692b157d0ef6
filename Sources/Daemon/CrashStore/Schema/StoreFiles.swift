import Glibc

/// Identifies the files of the open database by their inodes, which do not change with the files' names.
///
/// SQLite continues to write to these files even if they were deleted or renamed.
struct StoreFiles: Sendable {
  private struct Number: Equatable {
    var device: UInt64
    var inode: UInt64
  }

  private enum Finding: Equatable {
    case file(Number)
    case missing
    /// The state of a file cannot be determined, for example because the directory is not accessible.
    ///
    /// In this case, the file is treated as unchanged.
    case unknown
  }

  private let database: Finding
  private let log: Finding

  /// Identifies the files that are now at the given path.
  init(_ path: String) {
    database = Self.find(path)
    log = Self.find(path + "-wal")
  }

  /// Returns what happened to the files, as text; nil if they are still in their place.
  func change(at path: String) -> String? {
    switch Self.find(path) {
    case .missing: "the file was removed while crashd used it"
    case let now where now != database && now != .unknown: "another file was put in its place while crashd used it"
    default:
      switch Self.find(path + "-wal") {
      case .unknown: nil
      case let now where now != log && log != .missing:
        "its write-ahead log was removed or replaced while crashd used it"
      default: nil
      }
    }
  }

  /// Whether the file at the path is the open database.
  func isDatabase(at path: String) -> Bool { Self.find(path) == database }

  /// Whether the log file beside the path belongs to the open database.
  func isLog(at path: String) -> Bool { Self.find(path + "-wal") == log }

  private static func find(_ path: String) -> Finding {
    var status = stat()
    // lstat writes one struct stat, to `status`.
    guard unsafe lstat(path, &status) == 0 else { return errno == ENOENT || errno == ENOTDIR ? .missing : .unknown }
    return .file(Number(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)))
  }
}
