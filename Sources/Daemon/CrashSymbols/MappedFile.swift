import Glibc

/// A whole regular file, mapped for reading.
///
/// Every read is checked against the size of the file.
///
/// Precondition: the file never shrinks while it is mapped. This holds for caches, which are written under another
/// name, then renamed, and never changed.
// Safe: the address stays inside this class, which checks the bounds of every read.
// Sendable: the address is set once, and the mapping is never written.
@safe final class MappedFile: @unchecked Sendable {
  private let bytes: UnsafeRawBufferPointer

  /// The size of the file in bytes.
  let count: Int

  /// Maps the file.
  ///
  /// Throws an errno.
  ///
  /// Empty files and files above `limitBytes` are refused with ENODATA and EFBIG.
  init(path: String, limitBytes: Int) throws(Errno) {
    // The path is a valid C string during the call.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { throw Errno(code: errno) }
    defer { close(descriptor) }
    var status = stat()
    // `status` outlives the call.
    guard unsafe fstat(descriptor, &status) == 0 else { throw Errno(code: errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw Errno(code: EINVAL) }
    guard status.st_size > 0 else { throw Errno(code: ENODATA) }
    guard status.st_size <= limitBytes else { throw Errno(code: EFBIG) }
    // The kernel chooses the address, and the result is checked before use.
    let address = unsafe mmap(nil, status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0)
    guard let address = unsafe address, unsafe address != MAP_FAILED else { throw Errno(code: errno) }
    unsafe bytes = UnsafeRawBufferPointer(start: address, count: status.st_size)
    count = status.st_size
  }

  deinit {
    // No other code has the address, because reads return copies.
    unsafe munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), count)
  }

  /// An errno as an error.
  struct Errno: Error {
    var code: Int32
  }

  /// Returns the little-endian integer at `offset`; nil if it is not completely in the file.
  @inline(__always)
  func integer<Value: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Value.Type = Value.self) -> Value? {
    guard offset >= 0, offset <= count - MemoryLayout<Value>.size else { return nil }
    // The guard above ensures that the integer lies in the mapping.
    return unsafe Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
  }

  /// Returns `count` items from `offset` on; nil if they are not completely in the file.
  ///
  /// The section must not outlive this object.
  func section<Item: BitwiseCopyable>(at offset: Int, count items: UInt32) -> MappedSection<Item>? {
    guard offset >= 0, offset <= count, Int(items) <= (count - offset) / MemoryLayout<Item>.stride else { return nil }
    // The guard above ensures that the items lie in the mapping. The file is not empty, so its address is not nil.
    return unsafe bytes.baseAddress.map { unsafe MappedSection(start: $0 + offset, count: items) }
  }

  /// Returns the text from `offset` up to a zero byte, cut at `limitBytes`; nil if there is no zero byte before `end`.
  func text(at offset: Int, end: Int, limitBytes: Int) -> String? {
    guard offset >= 0, offset < end, end <= count else { return nil }
    let isCut = end - offset > limitBytes
    let end = isCut ? offset + limitBytes : end
    // The guard above ensures that the range lies in the mapping.
    let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset..<end])
    // memchr reads at most `count` bytes. The buffer is not empty, so its address is not nil.
    guard let start = rest.baseAddress else { return nil }
    guard let zero = unsafe memchr(start, 0, rest.count) else {
      return unsafe isCut ? String(decoding: rest, as: UTF8.self) : nil
    }
    // The text is the range from `start` to the zero byte. Ill-formed UTF-8 is repaired.
    return unsafe String(decoding: rest.prefix(UnsafeRawPointer(zero) - start), as: UTF8.self)
  }

  /// Returns a copy of a range; nil if it is not completely in the file.
  func copy(_ range: Range<Int>) -> [UInt8]? {
    guard range.lowerBound >= 0, range.upperBound <= count else { return nil }
    // The guard above ensures that the range lies in the mapping.
    return unsafe Array(bytes[range])
  }

  /// Returns the checksum of all bytes from `offset` on.
  func checksum(from offset: Int) -> UInt64 {
    // The range is clamped to the mapping.
    unsafe XXH64.checksum(of: UnsafeRawBufferPointer(rebasing: bytes[min(max(offset, 0), count)...]))
  }
}

/// The items of a section of a mapped file.
///
/// Every read is checked against the number of items.
///
/// Both the machine and the file are little-endian.
// Safe: the address stays inside this type, which checks the bounds of every read. The creator keeps the file mapped.
// Sendable: the mapping is never written.
@safe struct MappedSection<Item: BitwiseCopyable>: @unchecked Sendable {
  private let start: UnsafeRawPointer
  let count: UInt32

  @unsafe fileprivate init(start: UnsafeRawPointer, count: UInt32) {
    unsafe self.start = start
    self.count = count
  }

  /// The item at the index; nil beyond the end.
  @inline(__always)
  subscript(index: UInt32) -> Item? {
    guard index < count else { return nil }
    // The guard above ensures that the index is below the count.
    return unsafe start.loadUnaligned(fromByteOffset: Int(index) &* MemoryLayout<Item>.stride, as: Item.self)
  }
}

extension MappedSection<UInt8> {
  /// Returns the index of the first item in the sorted range `low..<high` that is greater than `value`.
  ///
  /// Returns `high` if there is no such item, and nil if the range exceeds the items.
  @inline(__always)
  func upperBound(of value: UInt8, from low: UInt32, to high: UInt32) -> UInt32? {
    guard low <= high, high <= count else { return nil }
    var (low, high) = (low, high)
    while low < high {
      // There are no more items than bytes in a file, so the sum does not overflow.
      let middle = (low &+ high) / 2
      // `middle` is less than `high`, which is at most the count, whatever the items contain.
      if unsafe start.load(fromByteOffset: Int(middle), as: UInt8.self) <= value {
        low = middle &+ 1
      } else {
        high = middle
      }
    }
    return low
  }
}
