import CLinux
import CrashRing
import Glibc
import LinuxSystem

/// An image whose symbols may be needed, with its path and the descriptor that the process may have sent.
struct ImageFile: Sendable {
  var buildID: String
  var path: String
  var isExecutable: Bool
  var descriptor: Descriptor?
  var origin = Origin.unseen

  /// The origin of the open file, if already determined.
  enum Origin: Sendable {
    case unseen
    /// crashd reaches the file by its path, on a mount where only root decides who owns files.
    case machine
    /// Only the process can reach the file, which may be in a container or on a disk of its user.
    case process
  }

  /// Returns the images of a ring that can have symbols, with the executable first.
  static func list(_ images: [RingContents.Image], descriptors: [Int: Descriptor] = [:]) -> [ImageFile] {
    let named = images.filter { !$0.path.hasPrefix("[") || $0.path == KernelImage.path }
    let files = named.filter { CacheName.isBuildID($0.buildID) }.map { image in
      ImageFile(
        buildID: image.buildID, path: image.path, isExecutable: image.isExecutable,
        descriptor: descriptors[image.index])
    }
    return files.filter(\.isExecutable) + files.filter { !$0.isExecutable }
  }

  /// The open file and its owner.
  struct Opened {
    var descriptor: Descriptor
    var owner: CacheOwner
    var identity: Identity
  }

  /// The identity of a file, independent of its name.
  ///
  /// A file whose contents were replaced has a new identity.
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

  /// Checks the descriptor that the process sent.
  ///
  /// Only a regular file that is open read-only is accepted.
  ///
  /// Makes no call that could block on a file system.
  /// - Returns: Nil if `look` must be called first.
  func opened(for user: UInt32) throws(SystemError) -> Opened? {
    if path == KernelImage.path { return try KernelImage.open() }
    guard let descriptor else { return nil }
    let facts = try descriptor.facts()
    guard facts.isRegular else { throw SystemError(what, code: ENOTSUP) }
    // The helper process gets this descriptor. If a hostile image compromised the helper, it must not be able to write
    // to its user's files.
    guard fcntl(descriptor.number, F_GETFL) & (O_ACCMODE | openPathOnly) == O_RDONLY else {
      throw SystemError("\(what): its descriptor is not read-only", code: EACCES)
    }
    guard let owner = CacheOwner.of(facts, user: user, origin: origin) else { return nil }
    return Opened(descriptor: descriptor, owner: owner, identity: Identity(facts))
  }

  /// Opens the path, which the process may have invented, or compares the file there with the descriptor.
  ///
  /// A path through a link of `/proc`, such as `/proc/PID/root`, leads into the mounts of another process and is not
  /// opened. If the process sent no descriptor, the file must meet three conditions: it is regular, it belongs to root,
  /// to crashd's own user or to the process's user, and the process's user can read it. The call may block on a file
  /// system for ever, so only threads of ``ForeignFileWork`` may make it.
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

  /// Calls `opened` and, if necessary, `look`.
  ///
  /// Must run on a thread that may block.
  func open(for user: UInt32) throws(SystemError) -> Opened {
    if let opened = try opened(for: user) { return opened }
    guard let opened = try look(for: user).opened(for: user) else { throw SystemError(what, code: EACCES) }
    return opened
  }

  /// The directory of the file.
  ///
  /// Files in one directory are on one file system and block together.
  var place: String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? path }

  private var what: String { "open image '\(path)'" }

  private static func isVouchedFor(_ file: Descriptor) -> Bool {
    var isVouchedFor = false
    // The call writes one Bool.
    return unsafe cd_file_is_vouched_for(file.number, &isVouchedFor) == 0 && isVouchedFor
  }
}

/// The users that a cache may serve.
///
/// A user could send a forged file under the build id of another program. Therefore only a file that root or crashd's
/// user alone can change serves all users. In a container or on a disk image, a user can own files of root. Such a file
/// counts only if root or crashd's user sent it, or if crashd reaches it by its path. Any other file serves only
/// processes of the user who sent it.
enum CacheOwner: Sendable, Hashable {
  case allUsers
  case user(UInt32)

  /// - Returns: Nil if the answer depends on the file's origin, which is not determined yet.
  static func of(_ facts: FileFacts, user: UInt32, origin: ImageFile.Origin) -> CacheOwner? {
    let isOurs = facts.owner == 0 || facts.owner == geteuid()
    guard isOurs && !facts.isSharedWritable else { return .user(user) }
    if user == 0 || user == geteuid() { return .allUsers }
    return switch origin {
    case .unseen: nil
    case .machine: .allUsers
    case .process: .user(user)
    }
  }
}

/// The name of a symbol cache.
///
/// It is the key in memory, and `BUILDID.cssym` on disk. A user's own caches are in a directory named after the uid.
struct CacheName: Sendable, Hashable {
  var buildID: String
  var owner: CacheOwner

  /// Whether the text consists only of lower-case hexadecimal digits.
  ///
  /// This is required because the build id becomes part of a path.
  static func isBuildID(_ text: String) -> Bool {
    (2...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  func directory(in caches: String) -> String {
    switch owner {
    case .allUsers: caches
    case .user(let uid): "\(caches)/\(uid)"
    }
  }

  func path(in caches: String) -> String { "\(directory(in: caches))/\(buildID).cssym" }
}

// O_PATH of <fcntl.h>, which Swift does not import.
private let openPathOnly: Int32 = 0o10_000_000
