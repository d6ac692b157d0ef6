/// Recognizes a load of a method's address directly before the call of the method.
///
/// An example is the pair `ldr x8, [x8, #0x40]` and `blr x8`.
enum MethodLoad_aarch64 {
  /// Whether the bytes begin with the load of a method's address and the call of the method.
  static func begins(_ bytes: [UInt8]) -> Bool {
    guard let load = PrecedingLoads_aarch64.move(bytes[...]), load.displacement.map({ $0 != 0 }) == true,
      let call = InstructionDecoder_aarch64.decode(Array(bytes.dropFirst(4)))
    else { return false }
    return (call.kind == .call || call.kind == .jump) && call.targetRegister == load.destination
  }

  /// Whether the bytes begin with the computation of an async method's address.
  ///
  /// The code loads a relative offset and adds it to the address from which it loaded the offset. The instructions are,
  /// for example, `ldrsw x9, [x8]` and `add x8, x9, x8`. Unoptimized code has a `mov` instruction between the two
  /// instructions.
  static func beginsAsync(_ bytes: [UInt8]) -> Bool {
    // This encoding is the instruction `ldrsw` with the offset 0.
    guard let load = InstructionDecoder_aarch64.word(bytes[...]), load & 0xffff_fc00 == 0xb980_0000 else {
      return false
    }
    func isSum(_ bytes: ArraySlice<UInt8>) -> Bool {
      guard let add = InstructionDecoder_aarch64.word(bytes), add & 0xffe0_fc00 == 0x8b00_0000 else { return false }
      return [add >> 5 & 31, add >> 16 & 31].contains(load & 31)
    }
    if isSum(bytes.dropFirst(4)) { return true }
    guard let move = PrecedingLoads_aarch64.move(bytes.dropFirst(4)), move.displacement == nil else { return false }
    return isSum(bytes.dropFirst(8))
  }
}
