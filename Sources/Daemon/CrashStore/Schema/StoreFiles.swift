import Glibc

/// Which files the open database consists of: SQLite goes on writing to them when their names are gone.
struct StoreFiles: Sendable {
  private struct Number: Equatable {
    var device: UInt64
    var inode: UInt64
  }

  private enum Finding: Equatable {
    case file(Number)
    case missing
    /// Such as a directory that may not be searched now: nothing follows from it.
    case unknown
  }

  private let database: Finding
  private let log: Finding

  /// Those that stand under a path now.
  init(_ path: String) {
    database = Self.find(path)
    log = Self.find(path + "-wal")
  }

  /// What has become of them; nil: they are where they were.
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

  /// Whether the database itself stands under the path.
  func isDatabase(at path: String) -> Bool { Self.find(path) == database }

  /// Whether the log that stands beside the path is that of the database itself.
  func isLog(at path: String) -> Bool { Self.find(path + "-wal") == log }

  private static func find(_ path: String) -> Finding {
    var status = stat()
    // lstat writes one struct stat.
    guard unsafe lstat(path, &status) == 0 else { return errno == ENOENT || errno == ENOTDIR ? .missing : .unknown }
    return .file(Number(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)))
  }
}
