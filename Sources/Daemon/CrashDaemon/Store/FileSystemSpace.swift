import Glibc

/// Determines the free space of a file system.
enum FileSystemSpace {
  /// Returns the number of bytes that a user other than root can still write, or nil if the call fails.
  static func freeBytes(at path: String) -> Int? {
    var space = statvfs()
    // statvfs writes one struct statvfs, to `space`.
    guard unsafe statvfs(path, &space) == 0 else { return nil }
    let (bytes, isTooMuch) = UInt64(space.f_bavail).multipliedReportingOverflow(by: UInt64(space.f_frsize))
    return isTooMuch ? Int.max : Int(clamping: bytes)
  }
}
