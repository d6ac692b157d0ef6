import CrashReport

/// Decodes the memory accesses of x86-64 instructions.
///
/// The decoder accepts any bytes, and returns an instruction, or nil if it cannot decode them. For unsupported forms
/// (gathers, compressed displacements of AVX-512), the result has no operand, because a wrong operand would lead to a
/// wrong diagnosis.
struct InstructionDecoder_x86_64 {
  private let bytes: [UInt8]
  private var position = 0
  private(set) var rex: UInt8 = 0
  private(set) var hasOperandPrefix = false
  private(set) var repeatPrefix: UInt8 = 0
  private var segment: MemoryOperand.Segment?
  private var isCompressed = false
  /// Whether the instruction has the prefix that truncates addresses to 32 bits.
  private var isAddressShort = false
  /// Whether the instruction accesses a memory operand that the result does not contain.
  private var isOperandHidden = false
  /// The DWARF number of the last register operand.
  private var lowRegister: Int?

  /// The maximum length of an x86-64 instruction in bytes.
  private static let lengthLimit = 15
  private static let rsp = 7
  /// The DWARF numbers of the registers, indexed by the register numbers in machine code.
  static let dwarf = [0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15]

  /// Decodes an instruction; nil if it is incomplete or unsupported.
  static func decode(_ bytes: [UInt8]) -> MachineInstruction? {
    var decoder = InstructionDecoder_x86_64(bytes)
    var instruction = decoder.instruction()
    instruction?.hasUnknownOperand = decoder.isOperandHidden || decoder.isAddressShort
    return instruction
  }

  private init(_ bytes: [UInt8]) { self.bytes = Array(bytes.prefix(Self.lengthLimit)) }

  private mutating func next() -> UInt8? {
    guard position < bytes.count else { return nil }
    defer { position += 1 }
    return bytes[position]
  }

  private mutating func instruction() -> MachineInstruction? {
    guard var opcode = prefixes() else { return nil }
    if opcode & 0xf0 == 0x40 {
      rex = opcode
      guard let following = next() else { return nil }
      opcode = following
    }
    switch opcode {
    case 0x0f:
      guard let second = next() else { return nil }
      if second == 0x38 || second == 0x3a { return longMap(second == 0x3a ? 3 : 2) }
      return twoByte(second)
    case 0xc4, 0xc5: return vector(isLong: opcode == 0xc4)
    case 0x62: return wideVector()
    default: return oneByte(opcode)
    }
  }

  /// Reads the prefixes, and returns the first byte after them.
  private mutating func prefixes() -> UInt8? {
    while let byte = next() {
      switch byte {
      case 0x66: hasOperandPrefix = true
      case 0xf2, 0xf3: repeatPrefix = byte
      case 0x64: segment = .fs
      case 0x65: segment = .gs
      case 0x67: isAddressShort = true
      case 0x2e, 0x36, 0x3e, 0x26, 0xf0: break
      default: return byte
      }
    }
    return nil
  }
}

// Decodes the opcodes of instructions.
extension InstructionDecoder_x86_64 {
  private mutating func oneByte(_ opcode: UInt8) -> MachineInstruction? {
    let push = MemoryOperand(base: Self.rsp, displacement: 0 &- 8)
    let pop = MemoryOperand(base: Self.rsp)
    let source = MemoryOperand(base: 4)
    let target = MemoryOperand(base: 5)
    switch opcode {
    case 0x50...0x57, 0x68, 0x6a, 0x9c: return MachineInstruction(operands: [push])
    case 0x58...0x5f, 0x9d, 0xc9: return MachineInstruction(operands: [opcode == 0xc9 ? MemoryOperand(base: 6) : pop])
    case 0xe8: return MachineInstruction(kind: .call, operands: [push])
    case 0xe9, 0xeb: return MachineInstruction(kind: .jump)
    case 0xc2, 0xc3: return MachineInstruction(kind: .ret, operands: [pop])
    case 0xa4, 0xa5: return MachineInstruction(operands: [source, target])
    case 0xa6, 0xa7: return MachineInstruction(operands: [source, target])
    case 0xaa, 0xab, 0xae, 0xaf: return MachineInstruction(operands: [target])
    case 0xac, 0xad: return MachineInstruction(operands: [source])
    case 0xd7: return MachineInstruction(operands: [MemoryOperand(base: 3)])
    case 0x8d: return MachineInstruction()
    // These opcodes are moves between an absolute address and al, ax, eax or rax. The address has 8 bytes, or 4 bytes
    // with the prefix for short addresses.
    case 0xa0...0xa3:
      guard let address = number(bytes: isAddressShort ? 4 : 8) else { return nil }
      let place = isAddressShort ? address & 0xffff_ffff : address
      return MachineInstruction(operands: [MemoryOperand(displacement: place, segment: segment)])
    // These opcodes are ins, outs, in, out, hlt, cli and sti, which are privileged.
    case 0x6c...0x6f, 0xe4...0xe7, 0xec...0xef, 0xf4, 0xfa, 0xfb: return MachineInstruction(isPrivileged: true)
    // int is privileged, except for the vectors of breakpoints (3), overflows (4) and 32-bit system calls (0x80).
    case 0xcd: return next().map { MachineInstruction(isPrivileged: ![3, 4, 0x80].contains($0)) }
    default: break
    }
    guard Self.hasModRM(opcode) else { return MachineInstruction() }
    let isShort = hasOperandPrefix
    guard let (operand, selector) = modRM(immediate: { Self.immediate(opcode, $0, isShort) }) else { return nil }
    var instruction = MachineInstruction(operands: operand.map { [$0] } ?? [])
    instruction.isStore = operand != nil && [0x88, 0x89, 0xc6, 0xc7].contains(opcode)
    instruction.isDivision = (opcode == 0xf6 || opcode == 0xf7) && selector >= 6
    if opcode == 0xff {
      if operand == nil, selector == 2 || selector == 4 { instruction.targetRegister = lowRegister }
      switch selector {
      case 2, 3:
        instruction.kind = .call
        instruction.operands.append(push)
      case 4, 5: instruction.kind = .jump
      case 6: instruction.operands.append(push)
      default: break
      }
    }
    if opcode == 0x8f { instruction.operands.append(pop) }
    return instruction
  }

  private mutating func twoByte(_ opcode: UInt8) -> MachineInstruction? {
    switch opcode {
    // These opcodes are clts, sysret, invd, wbinvd, moves of control and debug registers, wrmsr, rdmsr, rdpmc and
    // sysexit, which are privileged.
    case 0x06...0x09, 0x20...0x23, 0x30, 0x32, 0x33, 0x35: return MachineInstruction(isPrivileged: true)
    case 0x05, 0x0b, 0x0e, 0x31, 0x34, 0x36, 0x37, 0x77, 0x80...0x8f, 0xa2, 0xaa, 0xc8...0xcf:
      return MachineInstruction()
    case 0xa0, 0xa8: return MachineInstruction(operands: [MemoryOperand(base: Self.rsp, displacement: 0 &- 8)])
    case 0xa1, 0xa9: return MachineInstruction(operands: [MemoryOperand(base: Self.rsp)])
    default: break
    }
    let hasByte = [0x70, 0x71, 0x72, 0x73, 0xa4, 0xac, 0xba, 0xc2, 0xc4, 0xc5, 0xc6].contains(opcode)
    let following = bytes.indices.contains(position) ? bytes[position] : 0
    guard let (operand, selector) = modRM(immediate: { _ in hasByte ? 1 : 0 }) else { return nil }
    // Prefetches and long nops have a memory operand, but do not access it.
    if opcode == 0x0d || (0x18...0x1f).contains(opcode) { return MachineInstruction() }
    // maskmovq and maskmovdqu write to the address in rdi. bt, bts, btr and btc can access memory far from their
    // operand, because the bit number can be large.
    if opcode == 0xf7 || operand != nil && [0xa3, 0xab, 0xb3, 0xbb].contains(opcode) { isOperandHidden = true }
    return MachineInstruction(
      operands: operand.map { [$0] } ?? [], alignment: operand == nil ? nil : alignmentOfOld(opcode, selector),
      isPrivileged: Self.isPrivileged(opcode, selector, following))
  }

  /// Decodes an opcode of the maps 0F38 and 0F3A.
  private mutating func longMap(_ map: UInt8) -> MachineInstruction? {
    guard let opcode = next(), let (operand, _) = modRM(immediate: { _ in map == 3 ? 1 : 0 }) else { return nil }
    // movdir64b and enqcmd write to the address in a register. invept, invvpid and invpcid are privileged.
    if map == 2, opcode == 0xf8 { isOperandHidden = true }
    return MachineInstruction(
      operands: operand.map { [$0] } ?? [], alignment: operand == nil ? nil : alignmentOfOld(map: map, opcode),
      isPrivileged: map == 2 && hasOperandPrefix && (0x80...0x82).contains(opcode))
  }

  /// Decodes a VEX instruction.
  ///
  /// In a VEX instruction, the one or two bytes after C5 or C4 replace the legacy prefixes.
  private mutating func vector(isLong: Bool) -> MachineInstruction? {
    guard let first = next() else { return nil }
    var map: UInt8 = 1
    var last = first
    if isLong {
      guard let second = next() else { return nil }
      map = first & 0x1f
      // Invert the bits R, X and B, because the VEX bytes store them inverted.
      rex = 0x40 | (~first >> 5 & 7)
      last = second
    }
    hasOperandPrefix = last & 3 == 1
    repeatPrefix = last & 3 == 2 ? 0xf3 : last & 3 == 3 ? 0xf2 : 0
    return vectorBody(map: map, width: last & 4 == 0 ? 16 : 32)
  }

  /// Decodes an EVEX instruction.
  private mutating func wideVector() -> MachineInstruction? {
    guard let first = next(), let second = next(), let third = next() else { return nil }
    rex = 0x40 | (~first >> 5 & 7)
    hasOperandPrefix = second & 3 == 1
    repeatPrefix = second & 3 == 2 ? 0xf3 : second & 3 == 3 ? 0xf2 : 0
    isCompressed = true
    return vectorBody(map: first & 7, width: [16, 32, 64, 64][Int(third >> 5 & 3)])
  }

  private mutating func vectorBody(map: UInt8, width: UInt64) -> MachineInstruction? {
    guard (1...3).contains(map), let opcode = next() else { return nil }
    if map == 1 && opcode == 0x77 { return MachineInstruction() }
    let hasByte = map == 3 || map == 1 && [0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6].contains(opcode)
    guard let (operand, _) = modRM(immediate: { _ in hasByte ? 1 : 0 }) else { return nil }
    // The result cannot contain the operand of a gather or scatter, because its index register is a vector register.
    if map == 2, (0x90...0x93).contains(opcode) || (0xa0...0xa3).contains(opcode) {
      isOperandHidden = true
      return MachineInstruction()
    }
    return MachineInstruction(operands: operand.map { [$0] } ?? [], alignment: alignment(map: map, opcode, width))
  }

  /// Returns the operand alignment that a VEX instruction requires; nil if any address is valid.
  ///
  /// Only movaps, movapd, movntps, movdqa, movntdq and movntdqa require an alignment.
  private func alignment(map: UInt8, _ opcode: UInt8, _ bytes: UInt64) -> UInt64? {
    let isPacked = repeatPrefix == 0
    switch (map, opcode) {
    case (1, 0x28), (1, 0x29), (1, 0x2b): return isPacked ? bytes : nil
    case (1, 0x6f), (1, 0x7f), (1, 0xe7): return isPacked && hasOperandPrefix ? bytes : nil
    case (2, 0x2a): return isPacked && hasOperandPrefix ? bytes : nil
    default: return nil
    }
  }

  /// Whether an instruction of the groups 0F00 and 0F01 is privileged.
  ///
  /// In group 0F00, lldt and ltr are privileged. In group 0F01, these instructions are privileged: lgdt, lidt, lmsw,
  /// invlpg, and some of those whose opcode includes the ModRM byte (the list `others`).
  private static func isPrivileged(_ opcode: UInt8, _ selector: UInt8, _ following: UInt8) -> Bool {
    if opcode == 0x00 { return selector == 2 || selector == 3 }
    guard opcode == 0x01 else { return false }
    if selector == 6 { return true }
    // The list of these ModRM bytes contains instructions for virtual machines (such as vmcall), xsetbv, instructions
    // of AMD processors, and swapgs.
    let others: [UInt8] = [0xc1, 0xc2, 0xc3, 0xc4, 0xd1] + Array(0xd8...0xdf) + [0xf8]
    return following >> 6 == 3 ? others.contains(following) : [2, 3, 7].contains(selector)
  }

  private static func hasModRM(_ opcode: UInt8) -> Bool {
    switch opcode {
    case 0x00...0x3f: opcode & 7 < 4
    case 0x63, 0x69, 0x6b, 0x80...0x8f, 0xc0, 0xc1, 0xc6, 0xc7, 0xd0...0xd3, 0xd8...0xdf, 0xf6, 0xf7, 0xfe, 0xff: true
    default: false
    }
  }

  /// Returns the number of immediate bytes that follow the operand in the instruction.
  ///
  /// The number is needed because rip-relative addresses are relative to the next instruction.
  private static func immediate(_ opcode: UInt8, _ selector: UInt8, _ isShort: Bool) -> UInt64 {
    switch opcode {
    case 0x6b, 0x80, 0x82, 0x83, 0xc0, 0xc1, 0xc6: 1
    case 0x69, 0x81, 0xc7: isShort ? 2 : 4
    case 0xf6: selector < 2 ? 1 : 0
    case 0xf7: selector < 2 ? (isShort ? 2 : 4) : 0
    default: 0
    }
  }
}

// Decodes the memory operands of instructions.
extension InstructionDecoder_x86_64 {
  /// Decodes the ModRM byte.
  ///
  /// Returns the memory operand that the ModRM byte selects; nil if the byte selects a register. Also returns the
  /// middle field (reg) of the byte, which is a part of some opcodes.
  private mutating func modRM(immediate: (UInt8) -> UInt64) -> (MemoryOperand?, UInt8)? {
    guard let byte = next() else { return nil }
    let (mode, selector, low) = (byte >> 6, byte >> 3 & 7, byte & 7)
    if mode == 3 {
      lowRegister = Self.dwarf[Int(low | (rex & 1) << 3)]
      return (MemoryOperand?.none, selector)
    }
    var operand = MemoryOperand(segment: segment)
    if isAddressShort { isOperandHidden = true }
    var isDisplacementLong = mode == 2
    if low == 4 {
      guard let sib = next() else { return nil }
      let index = sib >> 3 & 7 | (rex & 2) << 2
      if index != 4 {
        operand.index = Self.dwarf[Int(index)]
        operand.scale = 1 << UInt64(sib >> 6)
      }
      if sib & 7 == 5 && mode == 0 {
        isDisplacementLong = true
      } else {
        operand.base = Self.dwarf[Int(sib & 7 | (rex & 1) << 3)]
      }
    } else if low == 5 && mode == 0 {
      guard let displacement = number(bytes: 4) else { return nil }
      // Add the length of the instruction, because a rip-relative displacement is relative to the next instruction.
      operand.base = Architecture.x86_64.programCounter
      operand.displacement = displacement &+ UInt64(position) &+ immediate(selector)
      return (isAddressShort ? nil : operand, selector)
    } else {
      operand.base = Self.dwarf[Int(low | (rex & 1) << 3)]
    }
    if mode == 1 || isDisplacementLong {
      guard let displacement = number(bytes: mode == 1 ? 1 : 4) else { return nil }
      operand.displacement = displacement
      // Return no operand for a compressed one-byte displacement of AVX-512, because the processor multiplies such a
      // displacement by the operand's size.
      if mode == 1 && isCompressed && displacement != 0 {
        isOperandHidden = true
        return (MemoryOperand?.none, selector)
      }
    }
    return (isAddressShort ? nil : operand, selector)
  }

  /// Reads a signed little-endian number.
  private mutating func number(bytes count: Int) -> UInt64? {
    var value: UInt64 = 0
    for index in 0..<count {
      guard let byte = next() else { return nil }
      value |= UInt64(byte) << UInt64(8 * index)
    }
    let unused = UInt64(64 - 8 * count)
    return UInt64(bitPattern: Int64(bitPattern: value << unused) >> Int64(unused))
  }
}
