import CLinux
import CrashRing
import CrashSymbols
import Glibc
import LinuxSystem

/// An image for which crashd possibly needs symbols.
///
/// The image has a path, and a descriptor if the process sent one.
struct ImageFile: Sendable {
  var buildID: String
  var path: String
  var isExecutable: Bool
  var descriptor: Descriptor?
  var origin = Origin.unseen

  /// The origin of the open file, if it was already determined.
  enum Origin: Sendable {
    case unseen
    /// crashd can open the same file by its path, on a mount where only root can change the owners of files.
    case machine
    /// Only the process can open the file by its path, for example in a container or on a disk image of its user.
    case process
  }

  /// Returns the images of a ring that can have symbols.
  ///
  /// The executable comes first.
  static func list(_ images: [RingContents.Image], descriptors: [Int: Descriptor] = [:]) -> [ImageFile] {
    let named = images.filter { !$0.path.hasPrefix("[") || $0.path == KernelImage.path }
    let files = named.filter { CacheName.isBuildID($0.buildID) }.map { image in
      ImageFile(
        buildID: image.buildID, path: image.path, isExecutable: image.isExecutable,
        descriptor: descriptors[image.index])
    }
    return files.filter(\.isExecutable) + files.filter { !$0.isExecutable }
  }

  /// An open image file, the users for which its symbol cache is allowed to be used, and the identity of the file.
  struct Opened {
    var descriptor: Descriptor
    var owner: CacheOwner
    var identity: Identity
  }

  /// Identifies a file and its contents independently of the file's name.
  ///
  /// If the contents of the file change, its identity changes, too.
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

  /// Checks the descriptor that the process sent, and returns the open file.
  ///
  /// The descriptor must refer to a regular file and must be open read-only.
  ///
  /// This method makes no system call that could block in a file system.
  /// - Returns: The open file, or nil if `look` must be called first.
  func opened(for user: UInt32) throws(SystemError) -> Opened? {
    if path == KernelImage.path { return try KernelImage.open() }
    guard let descriptor else { return nil }
    let facts = try descriptor.facts()
    guard facts.isRegular else { throw SystemError(what, code: ENOTSUP) }
    // crashd passes this descriptor to the helper process. If a malicious image compromises the helper, the helper must
    // not be able to write to the user's files.
    guard fcntl(descriptor.number, F_GETFL) & (O_ACCMODE | openPathOnly) == O_RDONLY else {
      throw SystemError("\(what): its descriptor is not read-only", code: EACCES)
    }
    guard let owner = CacheOwner.of(facts, user: user, origin: origin) else { return nil }
    return Opened(descriptor: descriptor, owner: owner, identity: Identity(facts))
  }

  /// Opens the file at the path.
  ///
  /// If the process sent a descriptor, the method instead compares the file at the path with the descriptor's file. The
  /// path is untrusted, because the process chose the path. A path through a link of `/proc`, such as `/proc/PID/root`,
  /// is not opened, because such a path leads into the mounts of another process. Without a descriptor, the file must
  /// satisfy three conditions. The file is a regular file. The owner of the file is root, crashd's own user or the
  /// process's user. The process's user can read the file. The method can block in a file system forever, so only
  /// threads of ``ForeignFileWork`` are allowed to call it.
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

  /// Opens the file of the image's build in the directories that an operator set.
  ///
  /// If no directory has the file, the method opens the file at the path.
  ///
  /// If the process sent a descriptor of the image file, this method does not search the directories. If no directory
  /// has the image and its path cannot be opened, this method opens the build's separate debug file, because this file
  /// has all symbols, too. Each file must pass the checks of `look(for:)`.
  func look(for user: UInt32, in directories: [String]) throws(SystemError) -> ImageFile {
    if descriptor != nil || directories.isEmpty { return try look(for: user) }
    let installed = directories.compactMap { DebugFilePaths.ofBuild(buildID, in: $0) }
    if let image = found(at: installed, for: user) { return image }
    do throws(SystemError) {
      return try look(for: user)
    } catch {
      guard let debugFile = found(at: installed.map { $0 + ".debug" }, for: user) else { throw error }
      return debugFile
    }
  }

  /// Returns this image with the first file that can be opened.
  private func found(at paths: [String], for user: UInt32) -> ImageFile? {
    for path in paths {
      var image = self
      image.path = path
      // Ignore errors, because most of the paths do not exist.
      guard var seen = try? image.look(for: user) else { continue }
      seen.path = self.path
      return seen
    }
    return nil
  }

  /// Opens the file: calls `opened`, and calls `look` first if `opened` returns nil.
  ///
  /// This method must run on a thread that is allowed to block.
  func open(for user: UInt32, in directories: [String] = []) throws(SystemError) -> Opened {
    if let opened = try opened(for: user) { return opened }
    guard let opened = try look(for: user, in: directories).opened(for: user) else {
      throw SystemError(what, code: EACCES)
    }
    return opened
  }

  /// The directory of the image, which ``ForeignFileWork`` receives as the place that can block.
  ///
  /// The files of one directory are expected to be on one file system, so if one of them blocks, all of them block.
  var place: String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? path }

  private var what: String { "open image '\(path)'" }

  private static func isVouchedFor(_ file: Descriptor) -> Bool {
    var isVouchedFor = false
    // cd_file_is_vouched_for writes one Bool, to `isVouchedFor`.
    return unsafe cd_file_is_vouched_for(file.number, &isVouchedFor) == 0 && isVouchedFor
  }
}

/// The users for which a symbol cache is allowed to be used.
///
/// A user could send a forged file with the build id of another program. Therefore, a cache is used for all users only
/// if only root and crashd's own user can change the image file. However, in a container or on a disk image, a user can
/// create files that belong to root. Therefore, a file of root is trusted only in two cases: root or crashd's own user
/// sent the file, or crashd can open it by its path. The cache of any other file is used only for processes of the user
/// who sent the file.
enum CacheOwner: Sendable, Hashable {
  case allUsers
  case user(UInt32)

  /// - Returns: The users; nil if the result depends on the file's origin, which is not determined yet.
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

/// Identifies a symbol cache.
///
/// In memory, crashd finds the cache in a dictionary whose keys are values of this type. On disk, the name of the cache
/// file is `BUILDID.cssym`. A cache for only one user is in a subdirectory whose name is the uid.
struct CacheName: Sendable, Hashable {
  var buildID: String
  var owner: CacheOwner

  /// Whether the string consists only of lower-case hexadecimal digits.
  ///
  /// This check is necessary because the build ID becomes part of a path.
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

// The value of O_PATH in <fcntl.h>, which Swift does not import.
private let openPathOnly: Int32 = 0o10_000_000
