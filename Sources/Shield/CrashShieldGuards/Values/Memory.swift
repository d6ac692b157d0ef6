public import CrashShield

extension UnsafeRawBufferPointer {
  /// Returns the value at an offset, aligned or not; if a part is outside the buffer, returns nil and records the fault
  /// as `memory`.
  ///
  /// Replaces `load`, which silently reads past the buffer in -O builds. Under `off` and `observe`, the guard behaves
  /// like `loadUnaligned`.
  @inlinable
  public func shieldedLoad<Value: BitwiseCopyable>(
    fromByteOffset offset: Int, as type: Value.Type, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Value? {
    // One comparison checks both bounds: a negative offset becomes a large unsigned number.
    let last = count &- MemoryLayout<Value>.size
    if _fastPath(last >= 0 && UInt(bitPattern: offset) <= UInt(bitPattern: last)) {
      // Invariant: the whole value is inside the buffer, as just checked.
      return unsafe loadUnaligned(fromByteOffset: offset, as: type)
    }
    let isAbsorbed = handleOffsetFault(offset, count, Value.self, fileID, line)
    // Not absorbed: perform the plain operation, which reads outside of the buffer, as without the guard.
    return isAbsorbed ? nil : unsafe loadUnaligned(fromByteOffset: offset, as: type)
  }
}

extension Array {
  /// Copies the buffer's elements; if the buffer has a count but no address, creates an empty array and records the
  /// fault as `memory`.
  @inlinable
  public init(
    shielded buffer: UnsafeBufferPointer<Element>, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    // Invariant: the address is only compared with null.
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
