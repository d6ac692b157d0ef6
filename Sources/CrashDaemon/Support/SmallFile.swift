import Glibc

/// Files of the kernel, which tell no size.
enum SmallFile {
  /// Its beginning, at most `limitBytes`; nil when it cannot be read.
  static func text(at path: String, limitBytes: Int = 4_096) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    let file = Descriptor(owning: descriptor)
    var bytes = [UInt8](repeating: 0, count: limitBytes)
    var total = 0
    while total < limitBytes {
      // read writes at most as many bytes as the slice has.
      let count = unsafe bytes[total...].withUnsafeMutableBytes {
        unsafe Glibc.read(file.number, $0.baseAddress, $0.count)
      }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { break }
      total += count
    }
    return total > 0 ? String(decoding: bytes.prefix(total), as: UTF8.self) : nil
  }
}
