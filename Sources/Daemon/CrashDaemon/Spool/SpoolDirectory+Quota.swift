import CShimRing
import Glibc
import LinuxSystem

// Limits the space of each user in the spool directory, where crashed processes leave copies of their rings (crash
// records). Every user is allowed to write to the directory, so crashd removes foreign files and the files that exceed
// the user's quota.
extension SpoolDirectory {
  /// The result of one removal of foreign and excess files.
  struct Tidying {
    /// Files that the in-process library never creates.
    ///
    /// crashd recognizes such files by names that the library never uses, or because they are not regular files.
    var foreign: [(name: String, owner: UInt32)] = []
    /// The number of rings that were removed because of the quota, by account (the uids that share limits).
    var excess: [UInt32: Int] = [:]
    /// Whether the directory contains a partial file, which a process is writing or has abandoned.
    var hasPartial = false
  }

  private struct Entry {
    var name: String
    var bytes: Int
    var isEmpty: Bool
    var changed: (Int, Int)
  }

  /// The minimum size that is counted for a file.
  ///
  /// A minimum is needed because even an empty file uses an inode and a directory entry.
  private static let leastBytes = 4_096

  /// Whether the name has a form that the in-process library uses for its files.
  static func isOurs(_ name: String) -> Bool {
    name.hasSuffix(CS_ATTACH_SPOOL_SUFFIX) || name.hasSuffix(CS_ATTACH_PARTIAL_SUFFIX)
  }

  /// Removes foreign files, and then excess files of each account except root's account.
  ///
  /// For each of these accounts, the method removes the files that changed least recently, until the remaining files
  /// fit the quota.
  func tidy(_ limits: Limits) throws(SystemError) -> Tidying {
    var found = Tidying()
    var entries: [UInt32: [Entry]] = [:]
    try forEachName { name in
      guard let status = status(of: name) else { return true }
      guard Self.isOurs(name), status.isRegular else {
        if removeForeign(name) { found.foreign.append((name, status.st_uid)) }
        return true
      }
      if name.hasSuffix(CS_ATTACH_PARTIAL_SUFFIX) { found.hasPartial = true }
      // `st_blocks` counts blocks of 512 bytes on every file system. The files are sorted by change time (ctime),
      // because only the kernel can set it.
      let bytes = Int(status.st_blocks) * 512
      let entry = Entry(
        name: name, bytes: max(bytes, Self.leastBytes), isEmpty: bytes == 0,
        changed: (status.st_ctim.tv_sec, status.st_ctim.tv_nsec))
      entries[limits.account(of: status.st_uid), default: []].append(entry)
      return true
    }
    let quota = quotaBytes(limits)
    for (account, own) in entries where account != 0 {
      let count = removeOldest(of: own, downTo: quota, files: limits.spoolFilesPerUser)
      if count > 0 { found.excess[account] = count }
    }
    return found
  }

  /// Returns the configured quota for one user, limited to a quarter of the size of the file system.
  private func quotaBytes(_ limits: Limits) -> Int {
    var space = statvfs()
    // fstatvfs writes one struct statvfs, to `space`.
    guard unsafe fstatvfs(directory.number, &space) == 0 else { return limits.spoolBytesPerUser }
    let all = Int(clamping: UInt64(space.f_blocks)).multipliedReportingOverflow(by: Int(clamping: space.f_frsize))
    return all.overflow || all.partialValue == 0
      ? limits.spoolBytesPerUser : min(limits.spoolBytesPerUser, all.partialValue / 4)
  }

  /// Removes the files that changed least recently, and returns how many of the removed files were not empty.
  private func removeOldest(of entries: [Entry], downTo quota: Int, files most: Int) -> Int {
    var (bytes, files, lost) = (entries.reduce(0) { $0 + $1.bytes }, entries.count, 0)
    for entry in entries.sorted(by: { $0.changed < $1.changed }) where bytes > quota || files > most {
      guard unsafe unlinkat(directory.number, entry.name, 0) == 0 else { continue }
      bytes -= entry.bytes
      files -= 1
      if !entry.isEmpty { lost += 1 }
    }
    return lost
  }

  /// Removes a foreign directory entry.
  ///
  /// - Returns: The result is false if the entry is a directory that is not empty, because only its owner can empty it.
  private func removeForeign(_ name: String) -> Bool {
    do { try remove(name) } catch { return false }
    return true
  }

  /// Returns the number of complete files in the spool.
  func count() -> Int {
    var count = 0
    // If the directory cannot be read, the count is 0. Other code that reads the directory logs this error.
    try? forEachName { name in
      if name.hasSuffix(CS_ATTACH_SPOOL_SUFFIX) { count += 1 }
      return true
    }
    return count
  }
}
