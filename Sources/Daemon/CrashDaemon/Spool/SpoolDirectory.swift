import CLinux
import CShimRing
import CrashReport
import CrashRing
import Glibc
import LinuxSystem

/// The reason why crashd did not read a file in the spool directory.
struct SpoolRefusal: Error, Equatable {
  var owner: Peer
  var reason: String
  /// Whether the reason is that crashd lacks a resource, such as a free descriptor.
  ///
  /// If so, crashd can read the file later.
  var isPassing = false
  /// Whether the ring is lost, because the process had no space to write it.
  ///
  /// If so, the file is empty, and crashd counts the loss.
  var isLoss = false
}

/// Makes a file name safe for the log, because another user chose the name.
enum CleanName {
  static func of(_ name: String) -> String { CleanText.line(String(name.prefix(64))) }
}

/// The directory where crashed processes leave copies of their rings (crash records).
///
/// crashd needs a copy if the process was not attached when it crashed, or if crashd ended before it stored the report.
///
/// Every user is allowed to create files in the directory, so crashd checks each file. crashd treats the owner of a
/// file as the user of the crashed process.
struct SpoolDirectory: Sendable {
  let path: String
  let directory: Descriptor

  /// The age after which an unchanged partial file is treated as abandoned, because the process that wrote it has
  /// ended.
  private static let partialAge_s = 600

  init(path: String) throws(SystemError) {
    self.path = path
    let number = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    guard number >= 0 else { throw SystemError("open '\(path)'") }
    directory = Descriptor(owning: number)
  }

  /// Lists the names of the complete files except the names in `known`, and removes abandoned partial files.
  ///
  /// `now_s` is the current time.
  func list(limit: Int, except known: Set<String> = [], at now_s: Int = time(nil)) throws(SystemError) -> [String] {
    var names: [String] = []
    try forEachName { name in
      if name.hasSuffix(CS_ATTACH_SPOOL_SUFFIX), !known.contains(name) { names.append(name) }
      if name.hasSuffix(CS_ATTACH_PARTIAL_SUFFIX) { removeIfOld(name, at: now_s) }
      return names.count < limit
    }
    return names.sorted()
  }

  /// Calls `body` with the name of each directory entry, until `body` returns false.
  func forEachName(_ body: (String) -> Bool) throws(SystemError) {
    // Open the directory again, because a duplicated descriptor would share its read position with concurrent readers.
    let copy = unsafe openat(directory.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { throw SystemError("read '\(path)'") }
    // fdopendir takes ownership of `copy`, so closedir closes it.
    guard let stream = unsafe fdopendir(copy) else {
      close(copy)
      throw SystemError("read '\(path)'")
    }
    defer { unsafe closedir(stream) }
    while let entry = unsafe readdir(stream) {
      // d_name is a null-terminated string. The string is in a buffer inside the directory entry, which stays valid
      // until the next call of readdir.
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name != "." && name != ".." && !body(name) { return }
    }
  }

  /// Opens the ring in a spool file.
  ///
  /// Returns nil if the name lacks the suffix of complete spool files, or if the file no longer exists.
  func open(_ name: String) throws(SpoolRefusal) -> AttachedProcess? {
    guard name.hasSuffix(CS_ATTACH_SPOOL_SUFFIX) else { return nil }
    let unknown = Peer(pid: 0, uid: geteuid())
    guard Self.ringID(of: name) != nil else {
      throw SpoolRefusal(owner: unknown, reason: "is not the name of a ring")
    }
    var number: Int32 = -1
    let code = unsafe cd_file_open_regular(directory.number, name, false, &number)
    if code == ENOENT { return nil }
    guard code == 0 else {
      throw SpoolRefusal(
        owner: unknown,
        reason: code == ENOTSUP ? "is not a regular file" : "cannot be opened: \(SystemError.text(code))",
        isPassing: [EMFILE, ENFILE, ENOMEM, EIO].contains(code))
    }
    let file = Descriptor(owning: number)
    do {
      let status = try file.status()
      let owner = Peer(pid: 0, uid: status.st_uid)
      guard !status.isSharedWritable else { throw SpoolRefusal(owner: owner, reason: "is writable by other users") }
      // Reject a file with a second hard link, because a user could have linked a file of another user into the
      // directory. The library publishes its files by `rename`, which creates no second link.
      guard status.st_nlink == 1 else { throw SpoolRefusal(owner: owner, reason: "has more than one name") }
      guard status.st_size > 0 else {
        throw SpoolRefusal(owner: owner, reason: "is empty: there was no room for the ring", isLoss: true)
      }
      return try process(file, owner: owner, name: name)
    } catch let error as SpoolRefusal {
      throw error
    } catch {
      throw SpoolRefusal(owner: unknown, reason: "cannot be read: \(error)", isPassing: true)
    }
  }

  private func process(_ file: Descriptor, owner: Peer, name: String) throws(SpoolRefusal) -> AttachedProcess {
    let ring: RingSource
    let contents: RingContents
    do throws(RingError) {
      ring = try RingSource(file: file)
      contents = ring.contents()
    } catch {
      if case .systemCall = error {
        throw SpoolRefusal(owner: owner, reason: "cannot be read: \(error)", isPassing: true)
      }
      throw SpoolRefusal(owner: owner, reason: "is not a ring: \(error)")
    }
    // The name of the file must contain the ID of its ring.
    guard Self.ringID(of: name) == contents.identity.ringID else {
      throw SpoolRefusal(owner: owner, reason: "has the name of another ring")
    }
    let peer = Peer(pid: contents.identity.pid, uid: owner.uid)
    var facts = ProcessFacts(contents, peer: peer, unit: nil)
    // Add the facts about the machine only if the file was written since the last boot, because another kernel could
    // have been booted since then.
    if cd_file_is_of_this_boot(file.number) { facts.context.machine = MachineFacts.here }
    facts.isPIDClaimed = true
    facts.times = .file(file)
    return AttachedProcess(number: 0, facts: facts, ring: ring)
  }

  /// Returns the ring ID that a file name contains.
  static func ringID(of name: String) -> String? {
    guard name.hasSuffix(CS_ATTACH_SPOOL_SUFFIX) else { return nil }
    let id = String(name.dropLast(CS_ATTACH_SPOOL_SUFFIX.count))
    return id.utf8.count == 32 && CacheName.isBuildID(id) ? id : nil
  }

  /// Returns the file name for a ring ID.
  static func name(of ringID: String) -> String { ringID + CS_ATTACH_SPOOL_SUFFIX }

  /// Returns the user ID of a file's owner; nil if the file does not exist.
  func owner(of name: String) -> UInt32? { status(of: name)?.st_uid }

  /// Identifies a file and the state of its contents.
  ///
  /// The identity includes the change time, because a file system can reuse the inode number of a removed file.
  struct FileIdentity: Equatable {
    private let numbers: [Int]

    init(_ status: stat) {
      numbers = [
        Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino), status.st_ctim.tv_sec,
        status.st_ctim.tv_nsec,
      ]
    }
  }

  /// Returns the identity of the file with the given name.
  func identity(of name: String) -> FileIdentity? { status(of: name).map(FileIdentity.init) }

  func status(of name: String) -> stat? {
    var status = stat()
    // fstatat writes one struct stat.
    return unsafe fstatat(directory.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
  }

  /// Removes the spool copy of a ring whose report is stored.
  ///
  /// If the file with this name belongs to another user, the method does not remove it.
  ///
  /// The directory has the sticky bit. Therefore, only the owner can replace the file between the check and the
  /// removal.
  func removeCopy(of ringID: String, owner: UInt32) {
    for name in [Self.name(of: ringID), Self.name(of: ringID) + CS_ATTACH_PARTIAL_SUFFIX]
    where self.owner(of: name) == owner {
      _ = unsafe unlinkat(directory.number, name, 0)
    }
  }

  /// Removes a file that was stored or refused.
  func remove(_ name: String) throws(SystemError) {
    if unsafe unlinkat(directory.number, name, 0) == 0 || errno == ENOENT { return }
    if errno == EISDIR, unsafe unlinkat(directory.number, name, AT_REMOVEDIR) == 0 { return }
    throw SystemError("remove '\(CleanName.of(name))' from the spool directory")
  }

  private func removeIfOld(_ name: String, at now_s: Int) {
    // The age is measured with the change time (ctime), because only the kernel can set it. The owner of the file can
    // set the access time and the modification time.
    guard let status = status(of: name), status.st_ctim.tv_sec < now_s - Self.partialAge_s else { return }
    try? remove(name)
  }
}
