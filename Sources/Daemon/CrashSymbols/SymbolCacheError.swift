import Glibc

/// The reason why a symbol cache could not be opened.
///
/// Whatever the reason, the caller should build the cache again.
public enum SymbolCacheError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file cannot be read.
  ///
  /// For example, the file does not exist, is not a regular file, is empty or is much too large.
  case unreadable(path: String, errno: Int32)
  /// The file is not a symbol cache.
  case notACache(path: String)
  /// Another version of crash-analyse created the file.
  case otherVersion(path: String, version: UInt32)
  /// The file is truncated, or its bytes have changed since it was written.
  case damaged(path: String, problem: String)
  /// The file belongs to another build of the image.
  case wrongBuildID(path: String, expected: String, found: String)

  /// A message of one line, for people.
  public var description: String {
    switch self {
    case .unreadable(let path, let errno):
      // strerror accepts every number. The function returns a string that the C library owns, and Swift copies this
      // string immediately.
      "cannot read symbol cache '\(path)': \(unsafe String(cString: strerror(errno)))"
    case .notACache(let path): "'\(path)' is not a symbol cache"
    case .otherVersion(let path, let version):
      "symbol cache '\(path)' has version \(version), not \(SymbolCacheFormat.version)"
    case .damaged(let path, let problem): "symbol cache '\(path)' is damaged: \(problem)"
    case .wrongBuildID(let path, let expected, let found):
      "symbol cache '\(path)' is for build id \(found.isEmpty ? "(none)" : found), not \(expected)"
    }
  }
}
