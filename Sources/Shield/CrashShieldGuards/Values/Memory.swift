public import CrashShield

extension UnsafeRawBufferPointer {
  /// The value at an offset, aligned or not; nil if it is not entirely in the buffer, which is recorded as `memory`.
  ///
  /// In place of `load`, which silently reads past the buffer in -O. `off` and `observe`: as `loadUnaligned`.
  @inlinable
  public func shieldedLoad<Value: BitwiseCopyable>(
    fromByteOffset offset: Int, as type: Value.Type, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Value? {
    // As an unsigned number a negative offset is large, so one comparison covers both bounds.
    let last = count &- MemoryLayout<Value>.size
    if _fastPath(last >= 0 && UInt(bitPattern: offset) <= UInt(bitPattern: last)) {
      // Checked just above.
      return unsafe loadUnaligned(fromByteOffset: offset, as: type)
    }
    let isAbsorbed = handleOffsetFault(offset, count, Value.self, fileID, line)
    // The plain operation.
    return isAbsorbed ? nil : unsafe loadUnaligned(fromByteOffset: offset, as: type)
  }
}

extension Array {
  /// The buffer's elements; none if it has a count but no address, which is recorded as `memory`.
  @inlinable
  public init(
    shielded buffer: UnsafeBufferPointer<Element>, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    // Only compares the address with null.
    let isMissing = unsafe buffer.baseAddress == nil && buffer.count != 0
    let count = buffer.count
    let site = ShieldSite(fileID: fileID, line: line)
    if isMissing, Shield.handleFault(.memory, at: site, { "\(count) elements without an address" }) {
      self.init()
    } else {
      unsafe self.init(buffer)
    }
  }
}

@inline(never)
@usableFromInline
func handleOffsetFault<Value>(
  _ offset: Int, _ count: Int, _: Value.Type, _ fileID: StaticString, _ line: UInt
) -> Bool {
  Shield.handleFault(.memory, at: ShieldSite(fileID: fileID, line: line)) {
    "a \(Value.self) at \(offset) is outside of \(count) bytes"
  }
}
