import CrashReport

/// Decodes the memory accesses of AArch64 instructions.
///
/// The decoder accepts any bytes, and returns an instruction, or nil if there are fewer than four bytes or the
/// instruction is undefined. The encodings are from the Arm Architecture Reference Manual, section C4.1. If an
/// instruction has an access that the decoder does not describe (SVE, SME, memory copies), the result has no operand.
struct InstructionDecoder_aarch64 {
  private let word: UInt32

  /// The register number that means the stack pointer as a base register, and the zero register in any other operand.
  private static let sp = 31
  private static let pc = 32

  /// Decodes the first instruction of the bytes; nil if this instruction is incomplete or undefined.
  static func decode(_ bytes: [UInt8]) -> MachineInstruction? {
    word(bytes[...]).flatMap { InstructionDecoder_aarch64(word: $0).instruction() }
  }

  /// Returns the first instruction of the bytes as a number; nil if there are fewer than four bytes.
  static func word(_ bytes: ArraySlice<UInt8>) -> UInt32? {
    guard bytes.count >= 4 else { return nil }
    return bytes.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// Returns a field of the instruction: `count` bits, from bit `low` on.
  private func bits(_ low: Int, _ count: Int) -> UInt32 { word >> UInt32(low) & (1 << UInt32(count) - 1) }

  /// Returns a signed field of the instruction, times `scale`, as a displacement.
  private func displacement(_ low: Int, _ count: Int, scale: Int64 = 1) -> UInt64 {
    let value = Int64(bits(low, count))
    let signed = value >> Int64(count - 1) == 0 ? value : value - 1 << Int64(count)
    return UInt64(bitPattern: signed * scale)
  }

  private func register(_ low: Int) -> Int { Int(bits(low, 5)) }
  private var base: Int { register(5) }
  private var isVector: Bool { bits(26, 1) == 1 }

  private func instruction() -> MachineInstruction? {
    switch bits(25, 4) {
    case 0b0000 where word >> 16 == 0: return nil
    case 0b0000 where bits(31, 1) == 1: return MachineInstruction(hasUnknownOperand: true)
    case 0b0010 where [0x42, 0x52, 0x62, 0x72].contains(word >> 25): return MachineInstruction(hasUnknownOperand: true)
    case 0b1010, 0b1011: return branchOrSystem()
    case 0b0100, 0b0110, 0b1100, 0b1110: return access()
    default: return MachineInstruction()
    }
  }
}

// Decodes loads and stores.
extension InstructionDecoder_aarch64 {
  private func access() -> MachineInstruction {
    switch (bits(27, 3), bits(24, 2)) {
    case (0b001, _) where isVector: return at(0, isStore: bits(22, 1) == 0)
    case (0b001, 0): return exclusive()
    case (0b011, 0): return literal()
    case (0b011, 1) where !isVector && bits(21, 1) == 0 && bits(10, 2) == 0:
      return at(displacement(12, 9), isStore: bits(22, 2) == 0)
    case (0b101, _): return pair()
    case (0b111, _) where isPrefetch: return MachineInstruction()
    case (0b111, 1): return at(UInt64(bits(10, 12)) << shift, isStore: isPlainStore)
    case (0b111, 0): return indexed()
    default: return MachineInstruction(hasUnknownOperand: true)
    }
  }

  private func at(_ displacement: UInt64, isStore: Bool) -> MachineInstruction {
    MachineInstruction(
      operands: [MemoryOperand(architecture: .aarch64, base: base, displacement: displacement)], isStore: isStore)
  }

  /// Decodes `ldxr`, `stlr`, `cas` and similar instructions, whose memory operand is only a base register.
  private func exclusive() -> MachineInstruction {
    let isCompare = bits(21, 1) == 1 && (bits(23, 1) == 1 || bits(31, 1) == 0)
    return at(0, isStore: bits(22, 1) == 0 && !isCompare)
  }

  /// Decodes loads whose address is relative to pc.
  private func literal() -> MachineInstruction {
    let operand = MemoryOperand(architecture: .aarch64, base: Self.pc, displacement: displacement(5, 19, scale: 4))
    return MachineInstruction(operands: isPrefetch ? [] : [operand])
  }

  private func pair() -> MachineInstruction {
    let (size, isLoad, mode) = (bits(30, 2), bits(22, 1) == 1, bits(23, 2))
    let scale: Int64 =
      if isVector { 4 << Int64(size & 3) } else if size == 0 { 4 } else if size == 1 { isLoad ? 4 : 16 } else { 8 }
    return at(mode == 0b01 ? 0 : displacement(15, 7, scale: scale), isStore: !isLoad)
  }

  /// The access size, as a power of two.
  private var shift: UInt64 { UInt64(bits(30, 2)) + (isVector && bits(23, 1) == 1 ? 4 : 0) }

  /// Whether a load or store of one register is a store.
  private var isPlainStore: Bool { bits(22, 1) == 0 && (isVector || bits(23, 1) == 0) }

  /// Whether the instruction only loads a cache line, which never faults.
  private var isPrefetch: Bool {
    if isVector || bits(30, 2) != 3 { return false }
    if bits(27, 3) == 0b011 { return true }
    let isPlain = bits(24, 1) == 1 || (bits(21, 1) == 0 ? bits(10, 2) == 0 : bits(10, 2) == 2)
    return isPlain && bits(22, 2) == 2
  }

  /// Decodes loads and stores with an offset in bytes or with an index register, and atomic operations.
  private func indexed() -> MachineInstruction {
    switch (bits(21, 1), bits(10, 2)) {
    case (0, 0b01): return at(0, isStore: isPlainStore)
    case (0, _): return at(displacement(12, 9), isStore: isPlainStore)
    case (1, 0b00): return at(0, isStore: false)
    case (1, 0b10): return withIndex()
    default:
      // The other encodings are the instructions `ldraa` and `ldrab`, which authenticate the base register before they
      // use it.
      let low = bits(12, 9) | bits(22, 1) << 9
      let signed = Int64(low) - (low >> 9 == 1 ? 1_024 : 0)
      return at(UInt64(bitPattern: signed * 8), isStore: false)
    }
  }

  private func withIndex() -> MachineInstruction {
    var operand = MemoryOperand(architecture: .aarch64, base: base)
    // Omit the index with number 31, which is the zero register.
    operand.index = register(16) == Self.sp ? nil : register(16)
    operand.scale = bits(12, 1) == 1 ? 1 << shift : 1
    switch bits(13, 3) {
    case 0b010: operand.extension32 = .zero
    case 0b110: operand.extension32 = .sign
    case 0b011, 0b111: break
    default: return MachineInstruction(hasUnknownOperand: true)
    }
    return MachineInstruction(operands: [operand], isStore: isPlainStore)
  }
}

// Decodes branches and system instructions.
extension InstructionDecoder_aarch64 {
  private func branchOrSystem() -> MachineInstruction {
    switch word >> 24 {
    case 0x14...0x17: return MachineInstruction(kind: .jump)
    case 0x94...0x97: return MachineInstruction(kind: .call)
    case 0xd6, 0xd7: return branchToRegister()
    // These encodings are the instructions `hvc` and `smc`, which are privileged.
    case 0xd4: return MachineInstruction(isPrivileged: bits(21, 3) == 0 && [2, 3].contains(bits(0, 5)))
    case 0xd5: return system()
    default: return MachineInstruction()
    }
  }

  private func branchToRegister() -> MachineInstruction {
    // Ignore the bit that requests authentication of the target. If the number of the target register is 31, the target
    // is the zero register, and the result has no target register.
    let target = base == Self.sp ? nil : base
    switch bits(21, 4) & 0b0111 {
    case 0b000: return MachineInstruction(kind: .jump, targetRegister: target)
    case 0b001: return MachineInstruction(kind: .call, targetRegister: target)
    // The instructions `retaa` and `retab` have the number 31 in the field of the target register, but return to x30.
    case 0b010: return MachineInstruction(kind: .ret, targetRegister: min(base, 30))
    // This encoding is the instruction `eret`.
    case 0b100: return MachineInstruction(isPrivileged: true)
    default: return MachineInstruction()
    }
  }

  private func system() -> MachineInstruction {
    guard bits(22, 2) == 0 else { return MachineInstruction() }
    let (group, level) = (bits(19, 2), bits(16, 3))
    // These encodings are the instructions `dc zva` and `dc cvac` to `dc civac`, which access the cache line at an
    // address.
    if group == 1, level == 3, bits(12, 4) == 7, bits(21, 1) == 0, register(0) != Self.sp {
      let operand = MemoryOperand(architecture: .aarch64, base: register(0))
      return MachineInstruction(operands: [operand], isStore: bits(8, 4) == 4)
    }
    // Among the instructions that write a single field of the processor state, those for `uao`, `pan`, `spsel`,
    // `daifset` and `daifclr` are privileged.
    if group == 0, bits(12, 4) == 4 {
      let field = bits(5, 3)
      return MachineInstruction(isPrivileged: level == 3 ? field >= 6 : level == 0 && (3...5).contains(field))
    }
    // System registers and system operations whose field op1 is not 3 are privileged.
    return MachineInstruction(isPrivileged: group != 0 && level != 3)
  }
}
