// Handles descriptors of files that a user chose. Closing one of these descriptors calls the user's file system, which
// can block forever.
import CLinux
import Glibc
import LinuxSystem

extension Descriptor {
  /// Takes ownership of the descriptor of a file that a user chose.
  ///
  /// When this object is released, a separate thread closes the descriptor, because the close can block.
  convenience init(foreign number: Int32, of user: UInt32) {
    self.init(owning: number) { number in
      ForeignFileWork.shared.submit(of: user, at: FileFacts.place(of: number)) { close(number) }
    }
  }

  /// Returns those attributes of the file that the kernel provides without a call to the file system.
  func facts() throws(SystemError) -> FileFacts { try FileFacts(of: number) }
}

/// Those attributes of an open file that the kernel provides without a call to the file system.
struct FileFacts {
  var device: UInt
  var inode: UInt
  var size: UInt64
  /// The time of the file's last change, according to the kernel's clock.
  var changed_s: Int64
  var changed_ns: Int64
  var mode: UInt32
  var owner: UInt32

  init(of number: Int32) throws(SystemError) {
    var facts = cd_file_facts()
    // The call writes one structure, to `facts`.
    try SystemError.check(unsafe cd_file_look(number, &facts), "look at descriptor \(number)")
    (device, inode, mode, owner) = (UInt(facts.device), UInt(facts.inode), facts.mode, facts.owner)
    (size, changed_s, changed_ns) = (facts.size, facts.changed_s, facts.changed_ns)
  }

  var isRegular: Bool { mode & UInt32(S_IFMT) == UInt32(S_IFREG) }
  /// Whether users other than the owner can write to the file.
  var isSharedWritable: Bool { mode & 0o022 != 0 }

  /// Returns a name for the device of the file, as the `place` of `ForeignFileWork`.
  ///
  /// If the file system of a device blocks for one file, it probably blocks for all of its files.
  static func place(of number: Int32) -> String {
    guard let facts = try? FileFacts(of: number) else { return "" }
    return "device \(facts.device)"
  }
}

extension stat {
  var isRegular: Bool { st_mode & S_IFMT == S_IFREG }
  var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }
  /// Whether users other than the owner can write to the file.
  var isSharedWritable: Bool { st_mode & 0o022 != 0 }
}
