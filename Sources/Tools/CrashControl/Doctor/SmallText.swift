import Glibc
import LinuxSystem

/// Reads small files, such as the files of `/proc`.
enum SmallText {
  /// Returns the beginning of a file as text, or nil if the file cannot be read.
  static func read(_ path: String, limitBytes: Int = 64 << 10) -> String? {
    (try? Descriptor.contents(of: path, upTo: limitBytes)).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns the target of a symbolic link, or nil if the path is not a readable link.
  static func link(_ path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    // Invariant: readlink writes at most as many bytes as the array has.
    let count = unsafe readlink(path, &buffer, buffer.count)
    guard count > 0, count < buffer.count else { return nil }
    return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
