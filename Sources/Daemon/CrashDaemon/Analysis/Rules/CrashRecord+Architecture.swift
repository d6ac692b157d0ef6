import CrashReport
import CrashRing
import Glibc

// Reads the registers of a record, and recognizes the trap instruction, on both architectures.
extension CrashRecord {
  /// The registers without the program counter, indexed by DWARF number.
  var generalRegisters: ArraySlice<UInt64> { registers.prefix(architecture.programCounter) }

  /// The numbers of the general registers that can contain a pointer to an object: all but the stack pointer.
  var pointerNumbers: [Int] { generalRegisters.indices.filter { $0 != architecture.stackPointer } }

  /// Returns the value of a register; 0 if the record does not contain the register.
  func register(_ number: Int) -> UInt64 { registers.indices.contains(number) ? registers[number] : 0 }

  /// Whether the register, as the base or index register of a memory operand, can contain a pointer to an object.
  func isPointerRegister(_ number: Int) -> Bool {
    number != architecture.programCounter && number != architecture.stackPointer
  }

  /// Whether the signal is the one that Swift's trap raises: SIGILL for `ud2`, SIGTRAP for `brk`.
  var isTrapSignal: Bool {
    switch architecture {
    case .x86_64: signal == SIGILL
    case .aarch64: signal == SIGTRAP && code == Self.breakpointCode
    }
  }

  /// Whether a trap instruction that swiftc or a C compiler emitted raised the signal.
  var isTrap: Bool {
    guard isTrapSignal else { return false }
    switch architecture {
    case .x86_64: return instruction.starts(with: Self.ud2)
    case .aarch64: return Self.breakpoint(instruction).map { $0 != Self.debuggerBreakpoint } ?? false
    }
  }

  /// Whether the instruction is an AArch64 breakpoint instruction (`brk`), which traps and debuggers use.
  var isBreakpoint: Bool { Self.breakpoint(instruction) != nil }

  /// Whether the fault was an instruction fetch at pc: the thread jumped to an address without code.
  ///
  /// The signal handler applies the same rule (`cs_registers_show_bad_fetch`). On x86-64, bit 4 of a page fault's error
  /// code marks an instruction fetch. On AArch64, the kernel stores no fault address for a misaligned pc.
  var showsBadFetch: Bool {
    let pc = register(architecture.programCounter)
    switch architecture {
    case .x86_64: return trapNumber == 14 && errorCode & 16 != 0 && faultAddress == pc
    case .aarch64:
      switch Exception_aarch64(syndrome: errorCode, address: faultAddress).kind {
      case .misalignedPC: return pc & 3 != 0
      case .fetch: return faultAddress == pc
      default: return errorCode == 0 && faultAddress == pc
      }
    }
  }

  /// The instruction `ud2` of x86-64.
  static let ud2: [UInt8] = [0x0f, 0x0b]
  /// The value of the si_code TRAP_BRKPT, which the kernel sets for a breakpoint.
  static let breakpointCode: Int32 = 1
  /// The number in the breakpoint instruction of `__builtin_debugtrap`.
  ///
  /// Swift and clang use the number 1 in a trap instruction, and gcc uses 1,000.
  private static let debuggerBreakpoint: UInt32 = 0xf000

  /// Returns the number in an AArch64 instruction `brk`; nil for other bytes.
  private static func breakpoint(_ instruction: [UInt8]) -> UInt32? {
    guard let word = InstructionDecoder_aarch64.word(instruction[...]), word & 0xffe0_001f == 0xd420_0000 else {
      return nil
    }
    return word >> 5 & 0xffff
  }
}
