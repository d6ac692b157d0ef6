/// Recognizes a load of a method's address directly before the call of the method, in the form that unoptimized code
/// has.
///
/// An example is the pair `mov rax, [rax+0x40]` and `call rax`.
enum MethodLoad_x86_64 {
  private static let load: UInt8 = 0x8b

  /// Whether the bytes begin with the load of a method's address and the call of the method.
  static func begins(_ bytes: [UInt8]) -> Bool {
    // Require the prefix REX.W, and a ModRM byte with a displacement.
    guard bytes.count > 3, bytes[0] & 0xf8 == 0x48, bytes[1] == load else { return false }
    let (mode, hasSIB) = (bytes[2] >> 6, bytes[2] & 7 == 4)
    guard mode == 1 || mode == 2 else { return false }
    let length = 3 + (hasSIB ? 1 : 0) + (mode == 1 ? 1 : 4)
    let register = bytes[2] >> 3 & 7
    // The highest bit of the register number is in the prefixes: in REX.R of the load and in REX.B of the call.
    let prefix: [UInt8] = bytes[0] & 4 == 0 ? [] : [0x41]
    return [0xd0, 0xe0].contains { bytes.dropFirst(length).starts(with: prefix + [0xff, $0 + register]) }
  }

  /// Whether the bytes begin with the computation of an async method's address.
  ///
  /// The code loads a relative offset and adds it to the address from which it loaded the offset. The instructions are,
  /// for example, `movsxd rcx, [rax]` and `add rcx, rax`. Unoptimized code has a `mov` instruction between the two
  /// instructions.
  static func beginsAsync(_ bytes: [UInt8]) -> Bool {
    // Require the prefix REX.W, and a ModRM byte whose memory operand is a register without a displacement.
    guard bytes.count >= 6, bytes[0] & 0xf8 == 0x48, bytes[1] == 0x63, bytes[2] >> 6 == 0,
      ![4, 5].contains(bytes[2] & 7)
    else { return false }
    func isOfRegisters(_ bytes: ArraySlice<UInt8>, _ codes: [UInt8]) -> Bool {
      guard bytes.count == 3, let first = bytes.first, let last = bytes.last else { return false }
      return first & 0xf8 == 0x48 && codes.contains(bytes[bytes.startIndex + 1]) && last >> 6 == 3
    }
    let (add, move) = ([0x01, 0x03] as [UInt8], [0x89, 0x8b] as [UInt8])
    if isOfRegisters(bytes[3..<6], add) { return true }
    return bytes.count >= 9 && isOfRegisters(bytes[3..<6], move) && isOfRegisters(bytes[6..<9], add)
  }
}
