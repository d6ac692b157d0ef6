// Lists the legacy SSE instructions that require an aligned operand. The list was measured: each instruction ran with
// an operand at an address 8 bytes after an aligned address. The manuals of Intel and AMD have no such list. They
// describe the alignment of each instruction separately, on hundreds of pages.

extension InstructionDecoder_x86_64 {
  /// Returns the alignment that an operand in the opcode map 0F requires; nil if any address is valid.
  func alignmentOfOld(_ opcode: UInt8, _ selector: UInt8) -> UInt64? {
    switch (opcode, selector) {
    // The selector is the field reg of the ModRM byte. The selectors 0 and 1 are fxsave and fxrstor. The selectors 4, 5
    // and 6 are xsave, xrstor and xsaveopt.
    case (0xae, 0), (0xae, 1): return repeatPrefix == 0 ? 16 : nil
    case (0xae, 4), (0xae, 5), (0xae, 6): return repeatPrefix == 0 && !hasOperandPrefix ? 64 : nil
    // Selector 1 is cmpxchg16b. The selectors 3, 4 and 5 are xrstors, xsavec and xsaves.
    case (0xc7, 1): return rex & 8 != 0 ? 16 : nil
    case (0xc7, 3), (0xc7, 4), (0xc7, 5): return 64
    default: break
    }
    let vectors: Set<UInt8> =
      switch (repeatPrefix, hasOperandPrefix) {
      case (0xf2, _): Self.repeatedByF2
      case (0xf3, _): Self.repeatedByF3
      case (_, true): Self.packedIntegersAndDoubles
      default: Self.packedFloats
      }
    return vectors.contains(opcode) ? 16 : nil
  }

  /// Returns the alignment that an operand in the opcode maps 0F38 and 0F3A requires; nil if any address is valid.
  func alignmentOfOld(map: UInt8, _ opcode: UInt8) -> UInt64? {
    if repeatPrefix != 0 { return nil }
    // Without the operand-size prefix, these opcodes are the SHA instructions.
    if !hasOperandPrefix { return map == 2 ? (0xc8...0xcd).contains(opcode) ? 16 : nil : opcode == 0xcc ? 16 : nil }
    return (map == 2 ? Self.map38 : Self.map3A).contains(opcode) ? 16 : nil
  }

  private static let packedFloats: Set<UInt8> = Set([0x14, 0x15, 0x28, 0x29, 0x2b, 0xc2, 0xc6])
    .union(0x51...0x59).union(0x5b...0x5f)
  private static let packedIntegersAndDoubles: Set<UInt8> = packedFloats.subtracting([0x52, 0x53])
    .union([0x2c, 0x2d, 0x5a, 0x6f, 0x70, 0x7c, 0x7d, 0x7f]).union(0x60...0x6d).union(0x74...0x76)
    .union(0xd0...0xd5).union(0xd8...0xef).union(0xf1...0xf6).union(0xf8...0xfe)
  private static let repeatedByF2: Set<UInt8> = [0x70, 0x7c, 0x7d, 0xd0, 0xe6]
  private static let repeatedByF3: Set<UInt8> = [0x12, 0x16, 0x5b, 0x70]
  private static let map38: Set<UInt8> = Set([0x10, 0x14, 0x15, 0x17, 0x37, 0x40, 0x41, 0xcf])
    .union(0x00...0x0b).union(0x1c...0x1e).union(0x28...0x2b).union(0x38...0x3f).union(0xdb...0xdf)
  private static let map3A: Set<UInt8> = [
    0x08, 0x09, 0x0c, 0x0d, 0x0e, 0x0f, 0x40, 0x41, 0x42, 0x44, 0xce, 0xcf, 0xdf,
  ]
}
