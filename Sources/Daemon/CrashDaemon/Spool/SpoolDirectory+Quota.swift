import CShimRing
import Glibc
import LinuxSystem

// Every user may write into the spool directory: foreign files and excess files are removed.
extension SpoolDirectory {
  /// What was removed from the directory.
  struct Tidying {
    /// Files that no shield creates: other names, and files that are not regular.
    var foreign: [(name: String, owner: UInt32)] = []
    /// The number of rings beyond the quota, by account.
    var excess: [UInt32: Int] = [:]
    /// A file is being written, or was left partially written.
    var hasPartial = false
  }

  private struct Entry {
    var name: String
    var bytes: Int
    var isEmpty: Bool
    var changed: (Int, Int)
  }

  /// The minimum charge of a file: an empty one takes an inode and a name.
  private static let leastBytes = 4_096

  /// Whether the name has the form of a shield's files.
  static func isOurs(_ name: String) -> Bool {
    name.hasSuffix(CS_ATTACH_SPOOL_SUFFIX) || name.hasSuffix(CS_ATTACH_PARTIAL_SUFFIX)
  }

  /// Removes foreign files, and of each account but root's the least recently changed files, until the rest fits the
  /// quota.
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
      // In blocks of 512 bytes, whatever the file system's are. The change time is the kernel's.
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

  /// A quarter of the whole file system at most.
  private func quotaBytes(_ limits: Limits) -> Int {
    var space = statvfs()
    // fstatvfs writes one structure.
    guard unsafe fstatvfs(directory.number, &space) == 0 else { return limits.spoolBytesPerUser }
    let all = Int(clamping: UInt64(space.f_blocks)).multipliedReportingOverflow(by: Int(clamping: space.f_frsize))
    return all.overflow || all.partialValue == 0
      ? limits.spoolBytesPerUser : min(limits.spoolBytesPerUser, all.partialValue / 4)
  }

  /// - Returns: The number of removed files that were not empty.
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

  /// - Returns: False: it is a directory that is not empty, which only its owner can empty.
  private func removeForeign(_ name: String) -> Bool {
    do { try remove(name) } catch { return false }
    return true
  }

  /// The number of complete files.
  func count() -> Int {
    var count = 0
    // The log reports a directory that cannot be read.
    try? forEachName { name in
      if name.hasSuffix(CS_ATTACH_SPOOL_SUFFIX) { count += 1 }
      return true
    }
    return count
  }
}
