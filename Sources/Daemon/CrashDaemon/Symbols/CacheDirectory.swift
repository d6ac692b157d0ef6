import FoundationEssentials
import Glibc
import LinuxSystem

/// The directory of symbol caches and unwind tables.
///
/// The total size of the directory's files is limited. Files that are allowed to be used for all users are in the
/// directory itself. Files that are allowed to be used for only one user are in a subdirectory for this user.
struct CacheDirectory {
  let path: String

  private struct File {
    var path: String
    var bytes: Int
    var lastUse: timespec

    func isOlder(than other: File) -> Bool {
      (lastUse.tv_sec, lastUse.tv_nsec) < (other.lastUse.tv_sec, other.lastUse.tv_nsec)
    }
  }

  /// Sets the access time of a file to the current time, because the file system possibly does not record reads.
  static func touch(_ path: String) {
    let times = [timespec(tv_sec: 0, tv_nsec: Int(now)), timespec(tv_sec: 0, tv_nsec: Int(keep))]
    // utimensat reads the two timespec values of `times`. Ignore an error, because its only effect is that `prune`
    // could remove the file earlier than other files.
    _ = unsafe utimensat(AT_FDCWD, path, times, 0)
  }

  /// Removes the least recently used files until the remaining files fit the limits.
  ///
  /// A process that has mapped a removed file can still read it.
  ///
  /// Files are first removed from the largest directory. Therefore, the files of one user never evict the files of a
  /// user who needs less space.
  ///
  /// - Parameters:
  ///   - limitBytes: The limit for the total size of all files.
  ///   - shareBytes: The limit for the total size of the files in one directory.
  /// - Throws: The error, if a directory cannot be read or a file cannot be removed.
  func prune(to limitBytes: Int, shareBytes: Int) throws {
    var shares: [[File]] = []
    for directory in try directories() {
      var files = try files(in: directory).sorted { $1.isOlder(than: $0) }
      // The array is sorted by last use, most recent first, so the next file to remove is the last element.
      while Self.bytes(files) > shareBytes, let oldest = files.popLast() { try remove(oldest) }
      shares.append(files)
    }
    while shares.reduce(0, { $0 + Self.bytes($1) }) > limitBytes,
      let largest = shares.indices.max(by: { Self.bytes(shares[$0]) < Self.bytes(shares[$1]) }),
      let oldest = shares[largest].popLast()
    {
      try remove(oldest)
    }
  }

  /// Removes the least recently used files until the remaining files fit the configured limits.
  func prune(_ limits: Limits) throws { try prune(to: limits.cacheBytes, shareBytes: limits.cacheDirectoryBytes) }

  /// Removes the partial files that an earlier crashd left behind.
  func removeLeftovers() throws {
    for directory in try directories() {
      for name in try names(in: directory) where name.hasSuffix(".partial") {
        // Skip files with the pid of this process, because jobs of this process could be writing these files. The names
        // have the form BUILDID.cssym.PID.NUMBER.partial.
        let parts = name.split(separator: ".")
        if parts.count >= 3, parts[parts.count - 3] == "\(getpid())" { continue }
        try FileManager.default.removeItem(atPath: "\(directory)/\(name)")
      }
    }
  }

  /// Returns the main directory and the users' subdirectories.
  private func directories() throws -> [String] {
    [path] + (try names(in: path).filter { UInt32($0) != nil }.map { "\(path)/\($0)" })
  }

  private func names(in directory: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory)
  }

  private func files(in directory: String) throws -> [File] {
    let names = try names(in: directory).filter { $0.hasSuffix(".cssym") || $0.hasSuffix(CacheName.unwindSuffix) }
    return names.compactMap { name in
      var status = stat()
      // lstat writes one struct stat.
      guard unsafe lstat("\(directory)/\(name)", &status) == 0 else { return nil }
      return File(path: "\(directory)/\(name)", bytes: Int(status.st_size), lastUse: status.st_atim)
    }
  }

  private func remove(_ file: File) throws(SystemError) {
    // The actor for symbols and the actor for unwind tables both remove files from this directory, so the other actor
    // could already have removed the file.
    guard unsafe unlink(file.path) == 0 || errno == ENOENT else { throw SystemError("remove '\(file.path)'") }
  }

  private static func bytes(_ files: [File]) -> Int { files.reduce(0) { $0 + $1.bytes } }
}

// The values of UTIME_NOW and UTIME_OMIT in <sys/stat.h>, which Swift does not import.
private let now = (1 << 30) - 1
private let keep = (1 << 30) - 2
