import CLinux
import CShimRing
import CrashReport
import CrashRing
import Glibc
import LinuxSystem

/// Why a file in the spool directory was not read.
struct SpoolRefusal: Error, Equatable {
  var owner: Peer
  var reason: String
  /// crashd lacks a resource, such as a free descriptor: the file can be read later.
  var isPassing = false
  /// There was no room for the ring: the crash is known without its contents.
  var isLoss = false
}

/// A file name from outside, for the log.
enum CleanName {
  static func of(_ name: String) -> String { CleanText.line(String(name.prefix(64))) }
}

/// The directory where processes leave their rings when crashd is unreachable.
///
/// Every user may put files there, so each is checked: the owner of a file is the user of its process.
struct SpoolDirectory: Sendable {
  let path: String
  let directory: Descriptor

  /// A partial file that is unchanged for this long belongs to a process that died.
  private static let partialAge_s = 600

  init(path: String) throws(SystemError) {
    self.path = path
    let number = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    guard number >= 0 else { throw SystemError("open '\(path)'") }
    directory = Descriptor(owning: number)
  }

  /// Lists the complete files except `known` ones, and removes partial ones that are old at `now_s`.
  func list(limit: Int, except known: Set<String> = [], at now_s: Int = time(nil)) throws(SystemError) -> [String] {
    var names: [String] = []
    try forEachName { name in
      if name.hasSuffix(CS_ATTACH_SPOOL_SUFFIX), !known.contains(name) { names.append(name) }
      if name.hasSuffix(CS_ATTACH_PARTIAL_SUFFIX) { removeIfOld(name, at: now_s) }
      return names.count < limit
    }
    return names.sorted()
  }

  /// Reads the directory, until `body` returns false.
  func forEachName(_ body: (String) -> Bool) throws(SystemError) {
    // A descriptor of its own: a duplicate would share its position with concurrent readers.
    let copy = unsafe openat(directory.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { throw SystemError("read '\(path)'") }
    // closedir closes the copy.
    guard let stream = unsafe fdopendir(copy) else {
      close(copy)
      throw SystemError("read '\(path)'")
    }
    defer { unsafe closedir(stream) }
    while let entry = unsafe readdir(stream) {
      // d_name ends with a zero; it is a buffer inside the entry, which stays until the next readdir.
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name != "." && name != ".." && !body(name) { return }
    }
  }

  /// Opens the ring of a file.
  ///
  /// Nil for a foreign, partial or removed file.
  func open(_ name: String) throws(SpoolRefusal) -> AttachedProcess? {
    guard name.hasSuffix(CS_ATTACH_SPOOL_SUFFIX) else { return nil }
    let unknown = Peer(pid: 0, uid: geteuid())
    guard Self.ringID(of: name) != nil else {
      throw SpoolRefusal(owner: unknown, reason: "is no ring's name")
    }
    var number: Int32 = -1
    let code = unsafe cd_file_open_regular(directory.number, name, false, &number)
    if code == ENOENT { return nil }
    guard code == 0 else {
      throw SpoolRefusal(
        owner: unknown, reason: code == ENOTSUP ? "is no regular file" : "cannot be opened: \(SystemError.text(code))",
        isPassing: [EMFILE, ENFILE, ENOMEM, EIO].contains(code))
    }
    let file = Descriptor(owning: number)
    do {
      let status = try file.status()
      let owner = Peer(pid: 0, uid: status.st_uid)
      guard !status.isSharedWritable else { throw SpoolRefusal(owner: owner, reason: "can be written by others") }
      // A second name elsewhere means that the file was not created by rename, and perhaps is another user's.
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
      throw SpoolRefusal(owner: owner, reason: "is no ring: \(error)")
    }
    // The name identifies the ring.
    guard Self.ringID(of: name) == contents.identity.ringID else {
      throw SpoolRefusal(owner: owner, reason: "has the name of another ring")
    }
    let peer = Peer(pid: contents.identity.pid, uid: owner.uid)
    var facts = ProcessFacts(contents, peer: peer, unit: nil)
    // A file that outlived a boot may be of another kernel.
    if cd_file_is_of_this_boot(file.number) { facts.context.machine = MachineFacts.here }
    facts.isPIDClaimed = true
    facts.times = .file(file)
    return AttachedProcess(number: 0, facts: facts, ring: ring)
  }

  /// The id of the ring in a file of this name.
  static func ringID(of name: String) -> String? {
    guard name.hasSuffix(CS_ATTACH_SPOOL_SUFFIX) else { return nil }
    let id = String(name.dropLast(CS_ATTACH_SPOOL_SUFFIX.count))
    return id.utf8.count == 32 && CacheName.isBuildID(id) ? id : nil
  }

  /// The name of the file of a ring.
  static func name(of ringID: String) -> String { ringID + CS_ATTACH_SPOOL_SUFFIX }

  /// The owner of a file; nil when it does not exist.
  func owner(of name: String) -> UInt32? { status(of: name)?.st_uid }

  /// A file and its state: a file system reuses the inode number of a removed file.
  struct FileIdentity: Equatable {
    private let numbers: [Int]

    init(_ status: stat) {
      numbers = [
        Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino), status.st_ctim.tv_sec,
        status.st_ctim.tv_nsec,
      ]
    }
  }

  /// The file behind a name.
  func identity(of name: String) -> FileIdentity? { status(of: name).map(FileIdentity.init) }

  func status(of name: String) -> stat? {
    var status = stat()
    // fstatat writes one struct stat.
    return unsafe fstatat(directory.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
  }

  /// Removes the copy of a stored ring; another user's file of that name stays.
  ///
  /// Between the check and the removal only the owner can replace the file: the directory is sticky.
  func removeCopy(of ringID: String, owner: UInt32) {
    for name in [Self.name(of: ringID), Self.name(of: ringID) + CS_ATTACH_PARTIAL_SUFFIX]
    where self.owner(of: name) == owner {
      _ = unsafe unlinkat(directory.number, name, 0)
    }
  }

  /// Removes a stored or refused file.
  func remove(_ name: String) throws(SystemError) {
    if unsafe unlinkat(directory.number, name, 0) == 0 || errno == ENOENT { return }
    if errno == EISDIR, unsafe unlinkat(directory.number, name, AT_REMOVEDIR) == 0 { return }
    throw SystemError("remove '\(CleanName.of(name))' from the spool directory")
  }

  private func removeIfOld(_ name: String, at now_s: Int) {
    // By its change time, which the kernel sets: an owner can set any other time.
    guard let status = status(of: name), status.st_ctim.tv_sec < now_s - Self.partialAge_s else { return }
    try? remove(name)
  }
}
