import CShimRing
import Glibc

/// An unnamed file, in memory or on disk.
///
/// The test closes it.
struct TestFile {
  let descriptor: Int32

  // The values of <linux/fcntl.h>, which Swift's Glibc module does not export.
  static let seal: Int32 = 0x1
  static let shrink: Int32 = 0x2
  static let grow: Int32 = 0x4
  private static let addSeals: Int32 = 1033
  private static let allowSealing: UInt32 = 0x2
  private static let closeOnExec: UInt32 = 0x1

  /// Makes an empty memfd that allows sealing.
  static func memory() throws -> TestFile {
    // Looks up memfd_create() by its name, because Swift's Glibc module does not export it. Invariant: the loaded C
    // library defines memfd_create() with this type.
    typealias Create = @convention(c) (UnsafePointer<CChar>, UInt32) -> Int32
    guard let symbol = unsafe dlsym(nil, "memfd_create") else { throw SystemError(errno: ENOSYS) }
    let create = unsafe unsafeBitCast(symbol, to: Create.self)
    return try unsafe TestFile(descriptor: checked(create("ring-test", closeOnExec | allowSealing)))
  }

  /// Creates an empty file that the kernel deletes when the test closes it.
  static func disk() throws -> TestFile {
    var path = Array("/tmp/cs-ring-XXXXXX\0".utf8CString)
    // Invariant: a NUL terminates the array, and mkstemp() changes only the letters X at its end.
    let descriptor = try unsafe checked(mkstemp(&path))
    _ = try unsafe checked(unlink(path))
    return TestFile(descriptor: descriptor)
  }

  func close() { Glibc.close(descriptor) }

  func resize(to size: Int) throws { _ = try checked(ftruncate(descriptor, off_t(size))) }

  func seal(_ seals: Int32 = seal | shrink | grow) throws { _ = try checked(fcntl(descriptor, Self.addSeals, seals)) }

  /// The memory or the disk space that the file uses, in units of 512 bytes.
  func blocks() throws -> Int {
    var status = stat()
    // Invariant: fstat writes one struct stat.
    _ = try unsafe checked(fstat(descriptor, &status))
    return Int(status.st_blocks)
  }

  /// The resident memory of this process's mappings of the file, in KiB: the sum of their `Rss` (proc(5)).
  func residentKiB() throws -> Int {
    var status = stat()
    // fstat writes one struct stat.
    _ = try unsafe checked(fstat(descriptor, &status))
    var (isOurs, sum) = (false, 0)
    for line in try Self.text("/proc/self/smaps").split(separator: "\n") {
      let words = line.split(separator: " ")
      // The line of a mapping has the range, rights, offset, device, inode and path.
      if words.count >= 5, words[0].contains("-") { isOurs = words[4] == "\(status.st_ino)" }
      if isOurs, words.first == "Rss:", words.count == 3 { sum += Int(words[1]) ?? 0 }
    }
    return sum
  }

  private static func text(_ path: String) throws -> String {
    let descriptor = try unsafe checked(open(path, O_RDONLY | O_CLOEXEC))
    defer { _ = Glibc.close(descriptor) }
    var (text, piece) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
    while true {
      // Invariant: read() writes at most as many bytes as the array has.
      let count = try unsafe checked(read(descriptor, &piece, piece.count))
      if count == 0 { return String(decoding: text, as: UTF8.self) }
      text += piece.prefix(count)
    }
  }

  /// Writes the nonempty pages of a ring.
  ///
  /// The other pages become holes, as in the ring of a process.
  func writePages(of ring: TestRing) throws {
    let page = 4_096
    // Invariant: reading the size of the ring does not access its memory.
    let size = unsafe ring.memory.count
    try resize(to: size)
    for offset in stride(from: 0, to: size, by: page) {
      // Invariant: the ring's size is a multiple of the page size, so the slice lies inside the ring's memory.
      let bytes = unsafe UnsafeRawBufferPointer(rebasing: ring.memory[offset..<offset + page])
      guard unsafe bytes.contains(where: { $0 != 0 }) else { continue }
      _ = try unsafe checked(pwrite(descriptor, bytes.baseAddress, page, off_t(offset)))
    }
  }

  /// Writes the first `bytes` of a ring.
  func write(_ ring: TestRing, bytes: Int = MemoryLayout<cs_ring>.size) throws {
    var offset = 0
    while offset < bytes {
      // Invariant: `offset` and `bytes` lie inside the ring's memory.
      let count = unsafe pwrite(
        descriptor, ring.memory.baseAddress?.advanced(by: offset), bytes - offset, off_t(offset))
      offset += try checked(count)
    }
  }
}

private struct SystemError: Error { let errno: Int32 }

private func checked<Result: SignedInteger>(_ result: Result) throws -> Result {
  guard result >= 0 else { throw SystemError(errno: errno) }
  return result
}
