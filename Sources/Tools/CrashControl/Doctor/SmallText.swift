import Glibc

/// Files of `/proc` and their like.
enum SmallText {
  /// The beginning of a file as text; nil when it cannot be read.
  static func read(_ path: String, limitBytes: Int = 64 << 10) -> String? {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while bytes.count < limitBytes {
      // read writes at most as many bytes as the array has.
      let count = unsafe Glibc.read(file, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { return nil }
      if count == 0 { break }
      bytes += buffer.prefix(count)
    }
    return String(decoding: bytes.prefix(limitBytes), as: UTF8.self)
  }

  /// Where a symbolic link leads; nil when it is none, or may not be read.
  static func link(_ path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    // readlink writes at most as many bytes as the array has.
    let count = unsafe readlink(path, &buffer, buffer.count)
    guard count > 0, count < buffer.count else { return nil }
    return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
