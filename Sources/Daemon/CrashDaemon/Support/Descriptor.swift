import CLinux
import Glibc
import LinuxSystem
import Synchronization

/// A file descriptor that is closed when it is no longer used.
final class Descriptor: Sendable {
  /// Valid as long as this object lives.
  let number: Int32
  /// Whose file it is, where closing it may wait for that user's file system; nil: it does not wait.
  private let foreign: Mutex<UInt32?>

  /// Takes over a descriptor that is open.
  init(owning number: Int32) {
    self.number = number
    foreign = Mutex(nil)
  }

  /// Takes over a descriptor of a file that a user chose: close(2) asks its file system, which may never answer.
  init(foreign number: Int32, of user: UInt32) {
    self.number = number
    foreign = Mutex(user)
  }

  /// It has turned out to be memory, whose closing does not wait.
  func isMemory() { foreign.withLock { $0 = nil } }

  deinit {
    guard let user = foreign.withLock({ $0 }) else {
      cd_close(number)
      return
    }
    let number = number
    ForeignFileWork.shared.submit(of: user, at: FileFacts.place(of: number)) { close(number) }
  }

  /// Whether it is ready to be read now.
  var isReadable: Bool {
    var wanted = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    // poll reads and writes one pollfd.
    return unsafe poll(&wanted, 1, 0) == 1
  }

  /// What fstat says.
  ///
  /// Not for a foreign file, whose file system may not answer: see `facts`.
  func status() throws(SystemError) -> stat {
    var status = stat()
    // fstat writes one struct stat, which `status` is.
    guard unsafe fstat(number, &status) == 0 else { throw SystemError("fstat descriptor \(number)") }
    return status
  }

  /// What the kernel knows of it without asking its file system.
  func facts() throws(SystemError) -> FileFacts {
    try FileFacts(of: number)
  }
}

/// What the kernel knows of an open file without asking its file system.
struct FileFacts {
  var device: UInt
  var inode: UInt
  var size: UInt64
  /// When it changed last, by the kernel's clock.
  var changed_s: Int64
  var changed_ns: Int64
  var mode: UInt32
  var owner: UInt32

  init(of number: Int32) throws(SystemError) {
    var facts = cd_file_facts()
    // The call writes one structure.
    try SystemError.check(unsafe cd_file_look(number, &facts), "look at descriptor \(number)")
    (device, inode, mode, owner) = (UInt(facts.device), UInt(facts.inode), facts.mode, facts.owner)
    (size, changed_s, changed_ns) = (facts.size, facts.changed_s, facts.changed_ns)
  }

  var isRegular: Bool { mode & UInt32(S_IFMT) == UInt32(S_IFREG) }
  /// Other users than the owner can change it.
  var isSharedWritable: Bool { mode & 0o022 != 0 }

  /// What hangs together when it hangs.
  static func place(of number: Int32) -> String {
    guard let facts = try? FileFacts(of: number) else { return "" }
    return "device \(facts.device)"
  }
}

extension stat {
  var isRegular: Bool { st_mode & S_IFMT == S_IFREG }
  var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }
  /// Other users than the owner can change it.
  var isSharedWritable: Bool { st_mode & 0o022 != 0 }
}
