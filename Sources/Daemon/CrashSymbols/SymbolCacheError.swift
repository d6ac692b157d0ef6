import Glibc

/// Why a symbol cache was not opened.
///
/// In each case the solution is to build it again.
public enum SymbolCacheError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file cannot be read: it does not exist, is no regular file, is empty or far too large.
  case unreadable(path: String, errno: Int32)
  /// The file is something else.
  case notACache(path: String)
  /// Another version of crash-analyse made it.
  case otherVersion(path: String, version: UInt32)
  /// It is truncated or changed.
  case damaged(path: String, problem: String)
  /// It belongs to another build of the image.
  case wrongBuildID(path: String, expected: String, found: String)

  /// One line for people.
  public var description: String {
    switch self {
    case .unreadable(let path, let errno):
      // strerror answers for every number, with a string of the C library.
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
