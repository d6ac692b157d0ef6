import CrashReport

/// An instruction with the facts about its memory accesses that a diagnosis needs.
struct MachineInstruction: Sendable, Equatable {
  enum Kind: Sendable, Equatable {
    case call
    case jump
    case ret
    case other
  }

  var kind = Kind.other
  /// The memory operands; the explicit operand is first.
  var operands: [MemoryOperand] = []
  /// The DWARF number of the register that contains the target of a call or jump; nil if no register contains the
  /// target.
  var targetRegister: Int?
  /// The alignment that the instruction requires of its operand's address; set for vector instructions, cmpxchg16b and
  /// instructions that save or restore state.
  var alignment: UInt64?
  /// Whether the instruction has a memory access that `operands` does not describe exactly.
  var hasUnknownOperand = false
  /// Whether the instruction is privileged.
  var isPrivileged = false

  /// Whether the instruction certainly writes to its first operand, for example a move to memory.
  ///
  /// If the value is false, the instruction can still write to its first operand.
  var isStore = false
  /// Whether the instruction divides integers.
  var isDivision = false

  /// Decodes the first instruction of the bytes; nil if the decoder of the architecture cannot decode it.
  static func decode(_ bytes: [UInt8], for architecture: Architecture) -> MachineInstruction? {
    switch architecture {
    case .x86_64: InstructionDecoder_x86_64.decode(bytes)
    case .aarch64: InstructionDecoder_aarch64.decode(bytes)
    }
  }

  /// The location from which a call, jump or return reads its target.
  enum Target: Sendable, Equatable {
    case register(Int)
    case memory(MemoryOperand)

    /// Returns the target address; nil if the record does not contain it.
    func value(_ registers: [UInt64], _ memory: MemoryWords) -> UInt64? {
      switch self {
      case .register(let number): registers.indices.contains(number) ? registers[number] : nil
      case .memory(let operand): operand.address(registers).flatMap { memory.word(at: $0) }
      }
    }
  }

  var target: Target? {
    if let targetRegister { return .register(targetRegister) }
    switch kind {
    case .ret: return operands.first.map(Target.memory)
    // Return nil for a call with a fixed target, because the only memory operand of such a call is the stack slot of
    // the return address.
    case .call: return operands.count > 1 ? operands.first.map(Target.memory) : nil
    case .jump: return operands.first.map(Target.memory)
    case .other: return nil
    }
  }

  /// Finds the memory operand whose access faulted.
  /// - Parameters:
  ///   - address: The address that the processor reported; nil for a general protection fault, which has no address.
  ///   - registers: The values of the registers, indexed by their DWARF numbers.
  /// - Returns: The operand; nil if no operand matches the fault.
  func operand(faultingAt address: UInt64?, registers: [UInt64]) -> MemoryOperand? {
    operands.first { operand in
      guard let start = operand.address(registers) else { return false }
      guard let address else { return !operand.architecture.isCanonical(start) || isMisaligned(start) }
      // Accept addresses up to 63 bytes after the operand's address, because the faulting address of an access that
      // crosses a page boundary can be the start of the second page.
      return address &- operand.architecture.untagged(start) < 64
    }
  }

  func isMisaligned(_ address: UInt64) -> Bool { alignment.map { address % $0 != 0 } ?? false }
}

/// A memory operand of an instruction: base + index × scale + displacement.
struct MemoryOperand: Sendable, Equatable {
  enum Segment: String, Sendable { case fs, gs }

  /// How the lowest 32 bits of an index register are extended to 64 bits.
  enum Extension: String, Sendable {
    case zero = "uxtw"
    case sign = "sxtw"
  }

  var architecture = Architecture.x86_64
  /// The DWARF number of the base register; `index` has the number of the index register.
  var base: Int?
  var index: Int?
  var scale: UInt64 = 1
  /// The displacement, in two's complement if the displacement is negative.
  var displacement: UInt64 = 0
  var segment: Segment?
  /// The extension of the index register on AArch64; nil if the operand uses the whole register.
  var extension32: Extension?

  /// Returns the address of the operand; nil if the address depends on a segment or on a register that the record does
  /// not contain.
  func address(_ registers: [UInt64]) -> UInt64? {
    guard segment == nil else { return nil }
    var sum = displacement
    if let base {
      guard registers.indices.contains(base) else { return nil }
      sum &+= registers[base]
    }
    if let index {
      guard registers.indices.contains(index) else { return nil }
      sum &+= extended(registers[index]) &* scale
    }
    return sum
  }

  private func extended(_ value: UInt64) -> UInt64 {
    switch extension32 {
    case .zero: value & 0xffff_ffff
    case .sign: UInt64(bitPattern: Int64(Int32(truncatingIfNeeded: value)))
    case nil: value
    }
  }

  /// The operand in assembler syntax, such as `[rdi + rcx*8 - 0x10]` or `[x0, x1, lsl #3]`.
  var text: String {
    switch architecture {
    case .x86_64: text_x86_64
    case .aarch64: text_aarch64
    }
  }

  private var text_aarch64: String {
    var parts = [base.map(architecture.registerName) ?? ""]
    if let index {
      let name = architecture.registerName(index)
      // Write an extended index with the name of the register's 32-bit half, such as `w1`, as assemblers do.
      parts.append(extension32 == nil ? name : "w" + name.dropFirst())
      let shift = scale == 1 ? "" : " #\(scale.trailingZeroBitCount)"
      if let extension32 {
        parts.append(extension32.rawValue + shift)
      } else if scale != 1 {
        parts.append("lsl" + shift)
      }
    }
    if displacement >> 63 == 1 {
      parts.append("#-\(Address(0 &- displacement))")
    } else if displacement != 0 {
      parts.append("#\(Address(displacement))")
    }
    return "[\(parts.joined(separator: ", "))]"
  }

  private var text_x86_64: String {
    var text = base.map(architecture.registerName) ?? ""
    if let index {
      text += (text.isEmpty ? "" : " + ") + architecture.registerName(index) + (scale == 1 ? "" : "*\(scale)")
    }
    let isNegative = displacement >> 63 == 1
    let amount = Address(isNegative ? 0 &- displacement : displacement).description
    if text.isEmpty {
      text = Address(displacement).description
    } else if displacement != 0 {
      text += (isNegative ? " - " : " + ") + amount
    }
    return (segment.map { $0.rawValue + ":" } ?? "") + "[\(text)]"
  }

  /// Returns the registers of the operand with their values, such as `rdi = 0x10`.
  func values(_ registers: [UInt64]) -> String {
    [base, index].compactMap { $0 }.filter { registers.indices.contains($0) && $0 != architecture.programCounter }
      .map { "\(architecture.registerName($0)) = \(Address(registers[$0]))" }.joined(separator: ", ")
  }
}
