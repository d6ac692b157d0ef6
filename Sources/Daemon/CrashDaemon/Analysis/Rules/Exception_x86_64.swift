import CrashRing
import Glibc

/// A processor exception, as Linux stores it with a thread's registers.
struct Exception_x86_64: Sendable {
  var number: UInt64
  var error: UInt64
  /// The address of a page fault (register cr2).
  var address: UInt64

  /// The resume flag (RF).
  ///
  /// It is set in the flags that a fault saves, and the next instruction clears it.
  static let resumeFlag: UInt64 = 1 << 16

  /// The signal that the kernel raises for the exception.
  /// - Parameters:
  ///   - pc: The address of the exception.
  ///   - expected: The delivered signal. SIGABRT matches any exception before it.
  /// - Returns: The signal; nil if the exception raises no signal or another signal than the delivered one.
  func signal(pc: UInt64, expecting expected: Int32) -> (signal: Int32, code: Int32, address: UInt64)? {
    let told: (signal: Int32, code: Int32, address: UInt64)? =
      switch number {
      case 0 where expected == SIGFPE: (SIGFPE, 1, pc)
      case 3: (SIGTRAP, 128, 0)
      case 6: (SIGILL, 2, pc)
      case 12: (SIGBUS, 128, 0)
      case 13: (SIGSEGV, 128, 0)
      // The page lies beyond the end of its mapped file.
      case 14 where expected == SIGBUS: (SIGBUS, 2, address)
      case 14: (SIGSEGV, pageFaultCode, address)
      // For floating point, only the registers of the FPU show the operation, so the code is FPE_FLTUNK.
      case 16, 19: (SIGFPE, 14, pc)
      case 17: (SIGBUS, 1, 0)
      default: nil
      }
    guard let told, told.signal == expected || expected == SIGABRT else { return nil }
    return told
  }

  /// The si_code of a page fault.
  ///
  /// Bit 5 means that a protection key forbids the access. Bit 0 means that the page exists and its rights forbid the
  /// access.
  private var pageFaultCode: Int32 { error & 32 != 0 ? 4 : error & 1 != 0 ? 2 : 1 }
}

extension CrashRecord {
  /// The exception of a fault whose handler re-raised the signal while the signal was blocked, and returned.
  ///
  /// The registers are then those of the fault. RF alone proves nothing, because the first access to a page also sets
  /// it and leaves the exception of an earlier fault that the thread survived. For this reason the instruction must be
  /// one that raises the exception. Nil if it is not, or if the signal was sent for another reason.
  var pendingException_x86_64: Exception_x86_64? {
    guard registers.indices.contains(RegisterNames.pc) else { return nil }
    let exception = Exception_x86_64(number: trapNumber, error: errorCode, address: faultAddress)
    let decoded = InstructionDecoder_x86_64.decode(instruction)
    // RF is not required for a page fault, which has an address, and for a breakpoint, which is a trap with its pc
    // after the instruction.
    guard trapNumber == 14 || trapNumber == 3 || flags & Exception_x86_64.resumeFlag != 0 else { return nil }
    let isMade =
      switch trapNumber {
      // Number 0 means either no exception or a failed division.
      case 0: signal == SIGFPE && decoded?.isDivision == true
      // The shield's handler has already compared the byte before pc. At the start of a function, that byte is padding.
      case 3: frames.first.map { $0.functionStart != registers[RegisterNames.pc] } ?? false
      case 6:
        Self.undefined.contains { instruction.starts(with: $0) }
          || (!instruction.isEmpty && decoded == nil && vectorOpcode == nil)
      case 12, 13: decoded.map(isRefused) ?? false
      case 14: isTied(exception, by: decoded)
      case 16: instruction.first.map { 0xd8...0xdf ~= $0 || $0 == 0x9b } ?? false
      case 17: flags & Self.alignmentFlag != 0 && decoded?.operands.isEmpty == false
      case 19: vectorOpcode.map { 0x50...0x5f ~= $0 || 0x2a...0x2f ~= $0 || $0 == 0xc2 } ?? false
      default: false
      }
    return isMade ? exception : nil
  }

  /// The opcodes of ud2, ud1 and ud0.
  private static let undefined: [[UInt8]] = [[0x0f, 0x0b], [0x0f, 0xb9], [0x0f, 0xff]]
  /// The alignment check flag (AC).
  ///
  /// Without it, the processor does not check the alignment of ordinary accesses.
  private static let alignmentFlag: UInt64 = 1 << 18

  /// The opcode of a vector instruction, which follows 0F or VEX; nil for other instructions.
  private var vectorOpcode: UInt8? {
    let bytes = Array(instruction.drop { [0x66, 0xf2, 0xf3].contains($0) || 0x40...0x4f ~= $0 }.prefix(5))
    let index: Int? =
      switch bytes.first {
      case 0x0f: 1
      case 0xc5: 2
      case 0xc4: 3
      case 0x62: 4
      default: nil
      }
    return index.flatMap { bytes.indices.contains($0) ? bytes[$0] : nil }
  }

  /// Whether the instruction fails without a page fault, because it is privileged or has a non-canonical address.
  private func isRefused(_ decoded: MachineInstruction) -> Bool {
    if decoded.isPrivileged || decoded.operand(faultingAt: nil, registers: registers) != nil { return true }
    let memory = MemoryWords([MemoryWords.Piece(start: stackStart, bytes: stack)])
    return decoded.target?.value(registers, memory).map { !$0.isCanonical } ?? false
  }

  /// Whether the page fault belongs to this instruction and not to an earlier fault that the thread survived.
  private func isTied(_ exception: Exception_x86_64, by decoded: MachineInstruction?) -> Bool {
    if exception.address == registers[RegisterNames.pc] { return true }
    guard let decoded, !decoded.hasUnknownOperand else {
      return flags & Exception_x86_64.resumeFlag != 0
        && SignalFrame_x86_64.isTied(trap: trapNumber, exception.address, registers)
    }
    return decoded.operand(faultingAt: exception.address, registers: registers) != nil
  }
}
