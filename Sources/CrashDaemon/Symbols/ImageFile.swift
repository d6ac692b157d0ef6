import CCrashDaemon
import CrashRing
import Glibc

/// An image whose symbols somebody may need: as the process names it, with the descriptor that it sent, if any.
struct ImageFile: Sendable {
  var buildID: String
  var path: String
  var isExecutable: Bool
  var descriptor: Descriptor?

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

  /// Which file it is, whatever its name.
  struct Identity: Sendable, Hashable {
    var device: UInt
    var number: UInt

    init(device: UInt, number: UInt) { (self.device, self.number) = (device, number) }

    init(_ status: stat) { self.init(device: UInt(status.st_dev), number: UInt(status.st_ino)) }
  }

  /// Checks the descriptor that the process sent, or opens the path, which it may have made up: only a regular file
  /// that belongs to root, to crashd's own user or to the user of the process is taken, so that nobody can have a
  /// file read that is not his.
  func open(for user: UInt32) throws(SystemError) -> Opened {
    let what = "open image '\(path)'"
    if path == KernelImage.path { return try KernelImage.open() }
    guard let descriptor else {
      var number: Int32 = -1
      try SystemError.check(unsafe cd_file_open_regular(AT_FDCWD, path, true, &number), what)
      let opened = Descriptor(owning: number)
      let status = try opened.status()
      let isReadable = status.st_mode & 0o004 != 0 || status.st_uid == user || user == 0
      guard isReadable, [0, geteuid(), user].contains(status.st_uid) else { throw SystemError(what, code: EACCES) }
      return Opened(descriptor: opened, owner: .of(status, user: user), identity: Identity(status))
    }
    let status = try descriptor.status()
    guard status.isRegular else { throw SystemError(what, code: ENOTSUP) }
    // A child that a hostile image takes over shall not be able to write into its user's files.
    guard fcntl(descriptor.number, F_GETFL) & (O_ACCMODE | openPathOnly) == O_RDONLY else {
      throw SystemError("\(what): its descriptor is not one for reading only", code: EACCES)
    }
    return Opened(descriptor: descriptor, owner: .of(status, user: user), identity: Identity(status))
  }
}

/// Who may use a cache.
///
/// A user could send a forged file under another program's build id; what came from a file that only root or crashd's
/// user can change serves all, anything else only the processes of the user who sent it.
enum CacheOwner: Sendable, Hashable {
  case everybody
  case user(UInt32)

  static func of(_ status: stat, user: UInt32) -> CacheOwner {
    let isOurs = status.st_uid == 0 || status.st_uid == geteuid()
    return isOurs && !status.isSharedWritable ? .everybody : .user(user)
  }
}

/// A symbol cache's name: in memory the key, on disk `BUILDID.cssym`, a user's own ones in a directory of his uid.
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
