import Glibc

/// Whose a process is to the kernel: the owner of its files in `/proc` (proc(5); the directory itself is always its user's).
///
/// That is its effective user, or root (of its user namespace) where the kernel would not dump it for that user: it was
/// started with set-user-id or file capabilities, has changed its user, or asks for no dump. So a library that does not
/// ask the kernel itself is found out as well.
enum ProcessOwner {
  static func of(pid: Int32) -> UInt32? {
    var status = stat()
    // stat writes one struct stat.
    return unsafe stat("/proc/\(pid)/stat", &status) == 0 ? status.st_uid : nil
  }

  /// Whether the kernel would not dump a process for `user`.
  ///
  /// - Parameters:
  ///   - owner: Of its files; nil where `/proc` hides it.
  ///   - stat: What was read after that: one that has ended belongs to root as well, and says nothing.
  ///   - user: The user that connected.
  /// - Returns: False where it is unknown.
  static func isRestricted(_ owner: UInt32?, _ stat: ProcessStat?, user: UInt32) -> Bool {
    guard let owner, let stat, !stat.isExiting else { return false }
    return owner != user
  }
}
