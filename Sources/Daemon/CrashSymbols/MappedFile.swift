import Glibc

/// A regular file that is mapped into memory as a whole, for reading.
///
/// Every read checks that it stays within the size of the file.
///
/// Precondition: the file never shrinks while it is mapped. Cache files satisfy this precondition, because they are
/// written under another name, then renamed, and never changed after that.
// Safe: the address is used only inside this class, which checks the bounds of every read. Sendable: the address never
// changes, and the mapping is never written.
@safe final class MappedFile: @unchecked Sendable {
  private let bytes: UnsafeRawBufferPointer

  /// The size of the file in bytes.
  let count: Int

  /// Maps the file.
  ///
  /// Throws the errno of the system call that failed.
  ///
  /// An empty file is rejected with ENODATA, and a file of more than `limitBytes` bytes with EFBIG.
  init(path: String, limitBytes: Int) throws(Errno) {
    // The path is passed as a C string, which is valid during the call.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { throw Errno(code: errno) }
    defer { close(descriptor) }
    var status = stat()
    // fstat writes one struct stat, to `status`.
    guard unsafe fstat(descriptor, &status) == 0 else { throw Errno(code: errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw Errno(code: EINVAL) }
    guard status.st_size > 0 else { throw Errno(code: ENODATA) }
    guard status.st_size <= limitBytes else { throw Errno(code: EFBIG) }
    // mmap chooses the address, and the code checks the result before it uses the address.
    let address = unsafe mmap(nil, status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0)
    guard let address = unsafe address, unsafe address != MAP_FAILED else { throw Errno(code: errno) }
    unsafe bytes = UnsafeRawBufferPointer(start: address, count: status.st_size)
    count = status.st_size
  }

  deinit {
    // No other code has an address in the mapping, because all reads return copies.
    unsafe munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), count)
  }

  /// The errno of a failed system call, as a Swift error.
  struct Errno: Error {
    var code: Int32
  }

  /// Returns the little-endian integer at `offset`; nil if the integer would exceed the file.
  @inline(__always)
  func integer<Value: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Value.Type = Value.self) -> Value? {
    guard offset >= 0, offset <= count - MemoryLayout<Value>.size else { return nil }
    // The preceding guard ensures that the integer is within the mapping.
    return unsafe Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
  }

  /// Returns the section that begins at `offset` and has `items` items; nil if the section would exceed the file.
  ///
  /// Precondition: the section is not used after this `MappedFile` was released.
  func section<Item: BitwiseCopyable>(at offset: Int, count items: UInt32) -> MappedSection<Item>? {
    guard offset >= 0, offset <= count, Int(items) <= (count - offset) / MemoryLayout<Item>.stride else { return nil }
    // The preceding guard ensures that all items are within the mapping. The file is not empty, so the base address of
    // its mapping is not nil.
    return unsafe bytes.baseAddress.map { unsafe MappedSection(start: $0 + offset, count: items) }
  }

  /// Returns the string that begins at `offset` and ends at the next zero byte, truncated to `limitBytes` bytes.
  ///
  /// Returns nil if there is no zero byte before `end`.
  func text(at offset: Int, end: Int, limitBytes: Int) -> String? {
    guard offset >= 0, offset < end, end <= count else { return nil }
    let isCut = end - offset > limitBytes
    let end = isCut ? offset + limitBytes : end
    // The preceding guard ensures that the range is within the mapping.
    let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset..<end])
    // memchr reads at most `count` bytes of the range `rest`. The range is not empty, so its base address is not nil.
    guard let start = rest.baseAddress else { return nil }
    guard let zero = unsafe memchr(start, 0, rest.count) else {
      return unsafe isCut ? String(decoding: rest, as: UTF8.self) : nil
    }
    // The string consists of the bytes from `start` to the zero byte, which is within the range. Swift replaces bytes
    // that are not valid UTF-8.
    return unsafe String(decoding: rest.prefix(UnsafeRawPointer(zero) - start), as: UTF8.self)
  }

  /// Returns a copy of a range of bytes; nil if the range exceeds the file.
  func copy(_ range: Range<Int>) -> [UInt8]? {
    guard range.lowerBound >= 0, range.upperBound <= count else { return nil }
    // The preceding guard ensures that the range is within the mapping.
    return unsafe Array(bytes[range])
  }

  /// Returns the checksum of the bytes from `offset` to the end of the file.
  func checksum(from offset: Int) -> UInt64 {
    // The offset is limited to the size of the mapping, so the range is within the mapping.
    unsafe XXH64.checksum(of: UnsafeRawBufferPointer(rebasing: bytes[min(max(offset, 0), count)...]))
  }
}

/// The items in a section of a mapped file, with access by index.
///
/// Every read checks the index against the number of items.
///
/// The items are read without conversion, because both the machine and the file are little-endian.
// Safe: the address is used only inside this type, which checks the bounds of every read. The code that creates the
// section must keep the file mapped. Sendable: the mapping is never written.
@safe struct MappedSection<Item: BitwiseCopyable>: @unchecked Sendable {
  private let start: UnsafeRawPointer
  let count: UInt32

  @unsafe fileprivate init(start: UnsafeRawPointer, count: UInt32) {
    unsafe self.start = start
    self.count = count
  }

  /// The item at an index; nil if the section has no item with this index.
  @inline(__always)
  subscript(index: UInt32) -> Item? {
    guard index < count else { return nil }
    // The preceding guard ensures that the index is below the number of items.
    return unsafe start.loadUnaligned(fromByteOffset: Int(index) &* MemoryLayout<Item>.stride, as: Item.self)
  }
}

extension MappedSection<UInt8> {
  /// Returns the index of the first item in `low..<high` that is greater than `value`.
  ///
  /// The items must be sorted in ascending order. Returns `high` if no item in the range is greater. Returns nil if the
  /// range exceeds the section.
  @inline(__always)
  func upperBound(of value: UInt8, from low: UInt32, to high: UInt32) -> UInt32? {
    guard low <= high, high <= count else { return nil }
    var (low, high) = (low, high)
    while low < high {
      // The sum cannot overflow, because the number of items is at most the number of bytes in the file.
      let middle = (low &+ high) / 2
      // `middle` is below `high`, and `high` is at most the number of items, so the read stays within the section.
      if unsafe start.load(fromByteOffset: Int(middle), as: UInt8.self) <= value {
        low = middle &+ 1
      } else {
        high = middle
      }
    }
    return low
  }
}
