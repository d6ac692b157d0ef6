internal import CShimRing
internal import CrashReport

/// A private copy of one C struct in the ring.
///
/// Fields are read by key path, so that cs_ring.h remains the only definition of the layout.
///
/// The process can change the ring at any time, even between a check and a use. Therefore, the reader makes no checks
/// in shared memory. The reader copies the struct first, then checks the copy, and then uses the copy.
struct PrivateCopy<Layout> {
  /// The bytes of the struct.
  ///
  /// The number of bytes is exactly the size of the struct.
  let bytes: ArraySlice<UInt8>

  /// Copies the struct at `offset` out of shared memory.
  ///
  /// Precondition: the struct is within `shared`. The static assertions on the ring layout guarantee this for the
  /// offsets in `RingLayout`.
  init(of shared: UnsafeRawBufferPointer, at offset: Int) {
    unsafe bytes = copyOut(of: shared, at: offset, count: MemoryLayout<Layout>.size)[...]
  }

  private init(bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  /// Reads a numeric field.
  subscript<Value: FixedWidthInteger & BitwiseCopyable>(_ field: KeyPath<Layout, Value>) -> Value {
    let start = offset(of: field)
    // The key path refers to a stored field of Layout, and `bytes` has the size of Layout, so the read stays within
    // `bytes`.
    return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: start, as: Value.self) }
  }

  /// Returns the first `count` bytes of a field that is a byte array.
  ///
  /// If the array has fewer bytes, returns the whole array.
  func bytes<Field>(_ field: KeyPath<Layout, Field>, count: some BinaryInteger) -> ArraySlice<UInt8> {
    let start = bytes.startIndex + offset(of: field)
    return bytes[start..<start + min(Int(clamping: count), MemoryLayout<Field>.size)]
  }

  /// Returns `count` bytes from the start of a field on, or fewer if the struct ends earlier.
  ///
  /// The bytes can include the fields that follow.
  func bytes<Field>(from field: KeyPath<Layout, Field>, count: Int) -> ArraySlice<UInt8> {
    bytes.dropFirst(offset(of: field)).prefix(count)
  }

  /// Returns the first `count` bytes of a field as a string that is safe to print.
  func text<Field>(_ field: KeyPath<Layout, Field>, count: some BinaryInteger) -> String {
    CleanText.decode(bytes(field, count: count))
  }

  /// Returns the string in a field, up to the first zero byte.
  func text<Field>(zeroTerminated field: KeyPath<Layout, Field>) -> String {
    CleanText.decode(bytes(field, count: MemoryLayout<Field>.size).prefix { $0 != 0 })
  }

  /// Returns the first `count` numbers of a field that is an array of numbers.
  ///
  /// If the array has fewer numbers, returns the whole array.
  func numbers<Field>(_ field: KeyPath<Layout, Field>, count: some BinaryInteger) -> [UInt64] {
    let size = MemoryLayout<UInt64>.size
    let bytes = bytes(field, count: min(Int(clamping: count), MemoryLayout<Field>.size / size) * size)
    return unsafe bytes.withUnsafeBytes { buffer in
      // Each read stays within the buffer, because the offset is below the buffer's size and both are multiples of
      // eight.
      stride(from: 0, to: buffer.count, by: size).map {
        unsafe buffer.loadUnaligned(fromByteOffset: $0, as: UInt64.self)
      }
    }
  }

  /// Returns the first `count` elements of a field that is an array of structs.
  ///
  /// If the array has fewer elements, returns the whole array.
  func elements<Field, Element>(
    _ field: KeyPath<Layout, Field>, of type: Element.Type, count: some BinaryInteger
  ) -> [PrivateCopy<Element>] {
    let start = bytes.startIndex + offset(of: field)
    let stride = MemoryLayout<Element>.stride
    let limit = MemoryLayout<Field>.size / stride
    return (0..<min(Int(clamping: count), limit)).map { index in
      PrivateCopy<Element>(bytes: bytes[start + index * stride..<start + (index + 1) * stride])
    }
  }

  /// Returns one member of a field that is a union.
  func member<Field, Member>(_ field: KeyPath<Layout, Field>, as type: Member.Type) -> PrivateCopy<Member> {
    let start = bytes.startIndex + offset(of: field)
    // A union is at least as large as each of its members. Therefore, a field that is smaller than the member is a bug
    // in the calling code.
    precondition(MemoryLayout<Member>.size <= MemoryLayout<Field>.size, "BUG: \(type) is not a member of \(field)")
    return PrivateCopy<Member>(bytes: bytes[start..<start + MemoryLayout<Member>.size])
  }

  private func offset(of field: PartialKeyPath<Layout>) -> Int {
    guard let offset = MemoryLayout<Layout>.offset(of: field) else {
      preconditionFailure("BUG: \(field) is not a stored field")
    }
    return offset
  }
}

/// Copies `count` bytes at `offset` out of shared memory.
func copyOut(of shared: UnsafeRawBufferPointer, at offset: Int, count: Int) -> [UInt8] {
  precondition(
    offset >= 0 && count >= 0 && offset <= shared.count - count, "BUG: a copy from outside the ring")
  guard count > 0, let base = shared.baseAddress else { return [] }
  return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
    guard let target = buffer.baseAddress else { return }
    // The preceding checks ensure that both ranges are valid, and no other code can access the target during the call.
    unsafe cs_ring_copy(target, base + offset, count)
    initialized = count
  }
}

/// Copies one number at `offset` out of shared memory.
func copyOut<Value: FixedWidthInteger & BitwiseCopyable>(
  of shared: UnsafeRawBufferPointer, at offset: Int
) -> Value {
  let bytes = unsafe copyOut(of: shared, at: offset, count: MemoryLayout<Value>.size)
  // `bytes` has exactly the size of the number, so the read stays within `bytes`.
  return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: Value.self) }
}
