import CLinux
import CrashRing
import Glibc
import LinuxSystem

/// An image whose symbols may be needed: as the process names it, with the descriptor that it sent, if any.
struct ImageFile: Sendable {
  var buildID: String
  var path: String
  var isExecutable: Bool
  var descriptor: Descriptor?
  var origin = Origin.unseen

  /// Where the open file comes from, as far as crashd has looked.
  enum Origin: Sendable {
    case unseen
    /// crashd reaches this file by its path, on a mount whose owners of files root vouches for.
    case machine
    /// Only the process has it, perhaps in a container or from a disk of its user.
    case process
  }

  /// The images of a ring that can have symbols, the executable first.
  static func list(_ images: [RingContents.Image], descriptors: [Int: Descriptor] = [:]) -> [ImageFile] {
    let named = images.filter { !$0.path.hasPrefix("[") || $0.path == KernelImage.path }
    let files = named.filter { CacheName.isBuildID($0.buildID) }.map { image in
      ImageFile(
        buildID: image.buildID, path: image.path, isExecutable: image.isExecutable,
        descriptor: descriptors[image.index])
    }
    return files.filter(\.isExecutable) + files.filter { !$0.isExecutable }
  }

  /// The open file and whose it is.
  struct Opened {
    var descriptor: Descriptor
    var owner: CacheOwner
    var identity: Identity
  }

  /// Which file it is, whatever its name, and since when as it is: one that is replaced in place is another one.
  struct Identity: Sendable, Hashable {
    var device: UInt
    var number: UInt
    var size: UInt64 = 0
    var changed_s: Int64 = 0
    var changed_ns: Int64 = 0

    init(device: UInt, number: UInt) { (self.device, self.number) = (device, number) }

    init(_ facts: FileFacts) {
      self.init(device: facts.device, number: facts.inode)
      (size, changed_s, changed_ns) = (facts.size, facts.changed_s, facts.changed_ns)
    }
  }

  /// Checks the descriptor: only a regular file that is open for reading alone is taken.
  ///
  /// Asks no file system.
  /// - Returns: nil when `look` has to be asked first.
  func opened(for user: UInt32) throws(SystemError) -> Opened? {
    if path == KernelImage.path { return try KernelImage.open() }
    guard let descriptor else { return nil }
    let facts = try descriptor.facts()
    guard facts.isRegular else { throw SystemError(what, code: ENOTSUP) }
    // A child that a hostile image takes over shall not be able to write into its user's files.
    guard fcntl(descriptor.number, F_GETFL) & (O_ACCMODE | openPathOnly) == O_RDONLY else {
      throw SystemError("\(what): its descriptor is not one for reading only", code: EACCES)
    }
    guard let owner = CacheOwner.of(facts, user: user, origin: origin) else { return nil }
    return Opened(descriptor: descriptor, owner: owner, identity: Identity(facts))
  }

  /// Opens the path, which the process may have made up, or compares it with the descriptor.
  ///
  /// A path through a link of `/proc`, such as `/proc/PID/root`, leads into the mounts of that process, and
  /// opens nothing. Where the process sent no descriptor, only a regular file is taken that belongs to root, to crashd's
  /// own user or to the user of the process, and that the user may read. May wait for a file system for ever: it is called
  /// on threads of ``ForeignFileWork`` only.
  func look(for user: UInt32) throws(SystemError) -> ImageFile {
    var (number, seen): (Int32, ImageFile) = (-1, self)
    seen.origin = .process
    let code = unsafe cd_file_open_regular_as(user, path, &number)
    let found = code == 0 ? Descriptor(foreign: number, of: user) : nil
    if let descriptor {
      guard let found, try Identity(found.facts()) == Identity(descriptor.facts()) else { return seen }
      seen.origin = Self.isVouchedFor(found) ? .machine : .process
      return seen
    }
    guard let found else { throw SystemError(what, code: code) }
    let facts = try found.facts()
    let isReadable = facts.mode & 0o004 != 0 || facts.owner == user || user == 0
    guard isReadable, [0, geteuid(), user].contains(facts.owner) else { throw SystemError(what, code: EACCES) }
    (seen.descriptor, seen.origin) = (found, Self.isVouchedFor(found) ? .machine : .process)
    return seen
  }

  /// Both, for a thread that may wait.
  func open(for user: UInt32) throws(SystemError) -> Opened {
    if let opened = try opened(for: user) { return opened }
    guard let opened = try look(for: user).opened(for: user) else { throw SystemError(what, code: EACCES) }
    return opened
  }

  /// What hangs together when it hangs.
  var place: String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? path }

  private var what: String { "open image '\(path)'" }

  private static func isVouchedFor(_ file: Descriptor) -> Bool {
    var isVouchedFor = false
    // The call writes one Bool.
    return unsafe cd_file_is_vouched_for(file.number, &isVouchedFor) == 0 && isVouchedFor
  }
}

/// The users that may use a cache.
///
/// A user could send a forged file under another program's build id. What came from a file that only root or crashd's
/// user can change serves all; but a user can have files of root's in a container or on a disk image, so that counts
/// only where root or crashd's user sent the file, or crashd reaches it by its path. Anything else serves only the
/// processes of the user who sent it.
enum CacheOwner: Sendable, Hashable {
  case everybody
  case user(UInt32)

  /// - Returns: nil when it depends on where the file comes from, and it is not known yet.
  static func of(_ facts: FileFacts, user: UInt32, origin: ImageFile.Origin) -> CacheOwner? {
    let isOurs = facts.owner == 0 || facts.owner == geteuid()
    guard isOurs && !facts.isSharedWritable else { return .user(user) }
    if user == 0 || user == geteuid() { return .everybody }
    return switch origin {
    case .unseen: nil
    case .machine: .everybody
    case .process: .user(user)
    }
  }
}

/// A symbol cache's name: in memory the key, on disk `BUILDID.cssym`, a user's own ones in a directory of its uid.
struct CacheName: Sendable, Hashable {
  var buildID: String
  var owner: CacheOwner

  /// Lower-case hexadecimal digits and nothing else: the build id becomes a part of a path.
  static func isBuildID(_ text: String) -> Bool {
    (2...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  func directory(in caches: String) -> String {
    switch owner {
    case .everybody: caches
    case .user(let uid): "\(caches)/\(uid)"
    }
  }

  func path(in caches: String) -> String { "\(directory(in: caches))/\(buildID).cssym" }
}

// O_PATH of <fcntl.h>, which Swift does not import.
private let openPathOnly: Int32 = 0o10_000_000
