import Glibc
import LinuxSystem

/// Reads and writes small files in one piece.
enum SmallFile {
  /// Returns at most the first `limitBytes` bytes of a file; nil if the file cannot be read.
  ///
  /// The function does not use the file's size, because the files in `/proc` and `/sys` report a wrong size.
  static func text(at path: String, limitBytes: Int = 4_096) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    let bytes = Descriptor(owning: descriptor).read(upTo: limitBytes).bytes
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the target of a symbolic link; nil if the link cannot be read, or if its target is too long.
  static func link(at path: String) -> String? {
    let limit = 256
    var target = [CChar](repeating: 0, count: limit)
    // readlink writes at most `limit` characters, which is the size of the array, and reads the path only during the call.
    let count = unsafe readlink(path, &target, limit)
    guard (1..<limit).contains(count) else { return nil }
    return String(decoding: target.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Replaces a file atomically.
  static func replace(_ path: String, by text: String) throws(SystemError) {
    let temporary = path + ".tmp"
    let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW
    let number = unsafe open(temporary, flags, 0o644)
    guard number >= 0 else { throw SystemError("write '\(temporary)'") }
    let file = Descriptor(owning: number)
    let bytes = Array(text.utf8)
    // Set the mode explicitly, because other users must be able to read the file even with a restrictive umask. write
    // reads `bytes.count` bytes, which is the size of the array.
    guard fchmod(file.number, 0o644) == 0, unsafe Glibc.write(file.number, bytes, bytes.count) == bytes.count else {
      throw SystemError("write '\(temporary)'")
    }
    guard unsafe rename(temporary, path) == 0 else { throw SystemError("rename '\(temporary)'") }
  }
}
