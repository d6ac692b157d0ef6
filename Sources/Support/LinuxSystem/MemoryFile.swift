import CLinux
import Glibc

/// A file in memory, for a reader that needs a file: a child, or the reader of rings.
package struct MemoryFile {
  package let descriptor: Descriptor

  /// Creates an empty file, or one of `size` zeros.
  package init(size: Int = 0) throws(SystemError) {
    var number: Int32 = -1
    try SystemError.check(unsafe cd_memory_create(size, &number), "make a file in memory")
    descriptor = Descriptor(owning: number)
  }

  /// Fixes its size for all holders, and its contents, unless it `staysWritable`.
  package func seal(staysWritable: Bool = true) throws(SystemError) {
    try SystemError.check(cd_memory_seal(descriptor.number, staysWritable), "seal a file in memory")
  }

  package func write(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      // pwrite reads as many bytes as the array has after `done`.
      let count = unsafe bytes.withUnsafeBytes {
        unsafe pwrite(
          descriptor.number, $0.baseAddress.map { unsafe $0 + done }, $0.count - done, off_t(offset + done))
      }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw SystemError("write a file in memory") }
      done += count
    }
  }

  /// Copies all of another file; nil, and nothing is copied, when it is larger than `limitBytes`.
  package func copy(_ source: Descriptor, at offset: Int, limitBytes: Int) throws(SystemError) -> Int? {
    let size = try Int(source.status().st_size)
    guard size <= limitBytes else { return nil }
    try write(try Self.read(source, limitBytes: size), at: offset)
    return size
  }

  /// Its first bytes.
  package func read(limitBytes: Int) throws(SystemError) -> [UInt8] {
    try Self.read(descriptor, limitBytes: limitBytes)
  }

  /// The first bytes of a file.
  package static func read(_ source: Descriptor, limitBytes: Int) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: max(0, limitBytes))
    var done = 0
    while done < bytes.count {
      // pread writes at most as many bytes as the array has after `done`.
      let count = unsafe bytes.withUnsafeMutableBytes {
        unsafe pread(source.number, $0.baseAddress.map { unsafe $0 + done }, $0.count - done, off_t(done))
      }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw SystemError("read a file") }
      if count == 0 { break }
      done += count
    }
    return Array(bytes.prefix(done))
  }
}
