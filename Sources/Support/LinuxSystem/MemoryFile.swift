import CLinux
import Glibc

/// A file in memory (memfd), which passes data to another process or to a function that reads a file.
package struct MemoryFile {
  package let descriptor: Descriptor

  /// Creates a file of `size` zeros.
  package init(size: Int = 0) throws(SystemError) {
    var number: Int32 = -1
    try SystemError.check(unsafe cd_memory_create(size, &number), "make a file in memory")
    descriptor = Descriptor(owning: number)
  }

  /// Seals the size of the file, so that no process can change it.
  ///
  /// If `staysWritable` is false, also seals the contents.
  package func seal(staysWritable: Bool = true) throws(SystemError) {
    try SystemError.check(cd_memory_seal(descriptor.number, staysWritable), "seal a file in memory")
  }

  package func write(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      // Invariant: pwrite reads as many bytes as the array has after `done`.
      let count = unsafe bytes.withUnsafeBytes {
        unsafe pwrite(
          descriptor.number, $0.baseAddress.map { unsafe $0 + done }, $0.count - done, off_t(offset + done))
      }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw SystemError("write a file in memory") }
      done += count
    }
  }

  /// Copies all contents of another file.
  ///
  /// If the other file is larger than `limitBytes`, does not copy anything and returns nil.
  package func copy(_ source: Descriptor, at offset: Int, limitBytes: Int) throws(SystemError) -> Int? {
    let size = try Int(source.status().st_size)
    guard size <= limitBytes else { return nil }
    try write(try Self.read(source, limitBytes: size), at: offset)
    return size
  }

  /// Returns the contents of this file, at most the first `limitBytes` bytes.
  package func read(limitBytes: Int) throws(SystemError) -> [UInt8] {
    try Self.read(descriptor, limitBytes: limitBytes)
  }

  /// Returns the contents of another file, at most the first `limitBytes` bytes.
  package static func read(_ source: Descriptor, limitBytes: Int) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: max(0, limitBytes))
    var done = 0
    while done < bytes.count {
      // Invariant: pread writes at most as many bytes as the array has after `done`.
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
