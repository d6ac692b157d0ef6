import Glibc

/// A whole regular file, mapped for reading; every read is checked against its size.
///
/// Precondition: the file never shrinks while it is mapped. Caches are written under another name, renamed, and never
/// changed.
// Safe: the address stays inside of this class, which bounds every read.
// Sendable: it is set once, and the mapping is never written.
@safe final class MappedFile: @unchecked Sendable {
  private let bytes: UnsafeRawBufferPointer

  /// In bytes.
  let count: Int

  /// Maps the file; throws an errno.
  ///
  /// Empty files and those above `limitBytes` are refused with ENODATA or EFBIG.
  init(path: String, limitBytes: Int) throws(Errno) {
    // The path is a C string for the time of the call.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { throw Errno(code: errno) }
    defer { close(descriptor) }
    var status = stat()
    // `status` outlives the call.
    guard unsafe fstat(descriptor, &status) == 0 else { throw Errno(code: errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw Errno(code: EINVAL) }
    guard status.st_size > 0 else { throw Errno(code: ENODATA) }
    guard status.st_size <= limitBytes else { throw Errno(code: EFBIG) }
    // The kernel chooses the address; the result is checked before use.
    let address = unsafe mmap(nil, status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0)
    guard let address = unsafe address, unsafe address != MAP_FAILED else { throw Errno(code: errno) }
    unsafe bytes = UnsafeRawBufferPointer(start: address, count: status.st_size)
    count = status.st_size
  }

  deinit {
    // Nothing else keeps the address: reads copy what they return.
    unsafe munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), count)
  }

  /// An errno as an error.
  struct Errno: Error {
    var code: Int32
  }

  /// The little-endian integer at `offset`; nil when it is not completely in the file.
  @inline(__always)
  func integer<Value: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Value.Type = Value.self) -> Value? {
    guard offset >= 0, offset <= count - MemoryLayout<Value>.size else { return nil }
    // Just checked to lie in the mapping.
    return unsafe Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
  }

  /// `count` items from `offset` on; nil when they are not completely in the file.
  ///
  /// The section must not outlive this object.
  func section<Item: BitwiseCopyable>(at offset: Int, count items: UInt32) -> MappedSection<Item>? {
    guard offset >= 0, offset <= count, Int(items) <= (count - offset) / MemoryLayout<Item>.stride else { return nil }
    // Just checked to lie in the mapping; a file that is not empty has an address.
    return unsafe bytes.baseAddress.map { unsafe MappedSection(start: $0 + offset, count: items) }
  }

  /// The text from `offset` up to a zero byte, cut at `limitBytes`; nil when there is no zero before `end`.
  func text(at offset: Int, end: Int, limitBytes: Int) -> String? {
    guard offset >= 0, offset < end, end <= count else { return nil }
    let isCut = end - offset > limitBytes
    let end = isCut ? offset + limitBytes : end
    // Just checked to lie in the mapping.
    let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset..<end])
    // memchr stays within the count; the buffer is not empty, so it has an address.
    guard let start = rest.baseAddress else { return nil }
    guard let zero = unsafe memchr(start, 0, rest.count) else {
      return unsafe isCut ? String(decoding: rest, as: UTF8.self) : nil
    }
    // From `start` up to the zero byte; ill-formed UTF-8 is repaired, not trusted.
    return unsafe String(decoding: rest.prefix(UnsafeRawPointer(zero) - start), as: UTF8.self)
  }

  /// Copies bytes; nil when they are not completely in the file.
  func copy(_ range: Range<Int>) -> [UInt8]? {
    guard range.lowerBound >= 0, range.upperBound <= count else { return nil }
    // Just checked to lie in the mapping.
    return unsafe Array(bytes[range])
  }

  /// The checksum of everything from `offset` on.
  func checksum(from offset: Int) -> UInt64 {
    // The range is clamped to the mapping.
    unsafe XXH64.checksum(of: UnsafeRawBufferPointer(rebasing: bytes[min(max(offset, 0), count)...]))
  }
}

/// Items of a mapped file; every read is checked against their number.
///
/// The machine is little-endian, as the file is.
// Safe: the address stays inside of this type, which bounds every read; its maker keeps the file mapped.
// Sendable: the mapping is never written.
@safe struct MappedSection<Item: BitwiseCopyable>: @unchecked Sendable {
  private let start: UnsafeRawPointer
  let count: UInt32

  @unsafe fileprivate init(start: UnsafeRawPointer, count: UInt32) {
    unsafe self.start = start
    self.count = count
  }

  /// The item; nil beyond the end.
  @inline(__always)
  subscript(index: UInt32) -> Item? {
    guard index < count else { return nil }
    // Just checked to be one of them.
    return unsafe start.loadUnaligned(fromByteOffset: Int(index) &* MemoryLayout<Item>.stride, as: Item.self)
  }
}

extension MappedSection<UInt8> {
  /// Of the sorted items `low..<high`, the index of the first that is greater than `value`; `high` when none is, nil when
  /// there are not so many items.
  @inline(__always)
  func upperBound(of value: UInt8, from low: UInt32, to high: UInt32) -> UInt32? {
    guard low <= high, high <= count else { return nil }
    var (low, high) = (low, high)
    while low < high {
      // No more items than bytes in a file: no overflow.
      let middle = (low &+ high) / 2
      // Less than `high`, which is not more than there are, whatever the items are and however they are sorted.
      if unsafe start.load(fromByteOffset: Int(middle), as: UInt8.self) <= value {
        low = middle &+ 1
      } else {
        high = middle
      }
    }
    return low
  }
}
