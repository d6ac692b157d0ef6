/// Decodes the AArch64 moves that directly precede an instruction, such as `ldr x0, [x19, #0x18]` and `mov x1, x0`.
enum PrecedingLoads_aarch64 {
  /// Returns the end of the code before an instruction, from the last target of a jump on; see
  /// `PrecedingLoads.straight`.
  static func straight(_ before: [UInt8], following: [UInt8]) -> [UInt8] {
    // The code ends where an instruction begins. Therefore, it also starts with a whole instruction if its length is a
    // multiple of four.
    let before = Array(before.dropFirst(before.count % 4))
    let code = before + following
    var start = 0
    for at in stride(from: 0, through: code.count - 4, by: 4) {
      guard let word = InstructionDecoder_aarch64.word(code[at...]), let distance = distance(word) else { continue }
      let target = at + 4 * distance
      if 0...before.count ~= target { start = max(start, target) }
    }
    return Array(before[start...])
  }

  /// Returns the distance of a direct branch, in instructions; nil for other instructions.
  private static func distance(_ word: UInt32) -> Int? {
    func field(_ low: UInt32, _ count: UInt32) -> Int {
      let value = Int(word >> low & (1 << count - 1))
      return value >> Int(count - 1) == 0 ? value : value - 1 << Int(count)
    }
    switch word >> 24 {
    case 0x14...0x17: return field(0, 26)
    // These opcodes are conditional branches, and branches that compare a register with zero.
    case 0x54, 0x34, 0x35, 0xb4, 0xb5: return field(5, 19)
    // These opcodes are branches that compare a bit with zero.
    case 0x36, 0x37, 0xb6, 0xb7: return field(5, 14)
    default: return nil
    }
  }

  /// Returns the move at the end of the code, and the code before this move.
  static func last(of code: ArraySlice<UInt8>) -> (move: PrecedingLoads.Move, rest: ArraySlice<UInt8>)? {
    guard code.count >= 4 else { return nil }
    return move(code.suffix(4)).map { ($0, code.dropLast(4)) }
  }

  /// Decodes a move of 64 bits at the start of the bytes; nil for other instructions.
  static func move(_ bytes: ArraySlice<UInt8>) -> PrecedingLoads.Move? {
    guard let word = InstructionDecoder_aarch64.word(bytes), word & 31 != 31 else { return nil }
    let (destination, base) = (Int(word & 31), Int(word >> 5 & 31))
    // These encodings are `ldr` with an unsigned offset, and `ldur`.
    if word >> 22 == 0x3e5 {
      return PrecedingLoads.Move(destination: destination, source: base, displacement: UInt64(word >> 10 & 0xfff) * 8)
    }
    if word & 0xffe0_0c00 == 0xf840_0000 {
      let offset = Int64(word >> 12 & 0x1ff)
      return PrecedingLoads.Move(
        destination: destination, source: base, displacement: UInt64(bitPattern: offset < 256 ? offset : offset - 512))
    }
    // The remaining encoding is `mov` between registers, which is `orr` with the zero register.
    let source = Int(word >> 16 & 31)
    guard word & 0xffe0_ffe0 == 0xaa00_03e0, source != 31 else { return nil }
    return PrecedingLoads.Move(destination: destination, source: source)
  }
}
