import Glibc

/// Files of the kernel that fit into a page.
enum SmallFile {
  /// Its beginning; nil when it cannot be read.
  static func text(at path: String) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    let file = Descriptor(owning: descriptor)
    var bytes = [UInt8](repeating: 0, count: 4_096)
    // read writes at most as many bytes as the array has.
    let count = unsafe Glibc.read(file.number, &bytes, bytes.count)
    guard count > 0 else { return nil }
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}
