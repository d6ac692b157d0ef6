import CrashReport
import CrashRing
import Glibc

/// An x86-64 processor exception, in the form in which Linux stores it with the registers of a thread.
struct Exception_x86_64: Sendable {
  var number: UInt64
  var error: UInt64
  /// The address of a page fault (register cr2).
  var address: UInt64

  /// The resume flag (RF) in the flags register.
  ///
  /// When an instruction faults, the processor saves the flags with RF set. The next completed instruction clears RF.
  static let resumeFlag: UInt64 = 1 << 16

  /// Returns the signal that the kernel raises for the exception.
  /// - Parameters:
  ///   - pc: The address of the instruction that raised the exception.
  ///   - expected: The signal that was delivered. For SIGABRT, the function accepts any exception.
  /// - Returns: The signal; nil if the exception raises no signal, or a signal other than the delivered one.
  func signal(pc: UInt64, expecting expected: Int32) -> (signal: Int32, code: Int32, address: UInt64)? {
    let told: (signal: Int32, code: Int32, address: UInt64)? =
      switch number {
      case 0 where expected == SIGFPE: (SIGFPE, 1, pc)
      case 3: (SIGTRAP, 128, 0)
      case 6: (SIGILL, 2, pc)
      case 12: (SIGBUS, 128, 0)
      case 13: (SIGSEGV, 128, 0)
      // SIGBUS means that the accessed page is after the end of the mapped file, or could not be read from the file.
      case 14 where expected == SIGBUS: (SIGBUS, 2, address)
      case 14: (SIGSEGV, pageFaultCode, address)
      // Only the FPU's registers show the cause of a floating-point exception, and the record does not contain them.
      // Therefore, the code is FPE_FLTUNK (unknown).
      case 16, 19: (SIGFPE, 14, pc)
      case 17: (SIGBUS, 1, 0)
      default: nil
      }
    guard let told, told.signal == expected || expected == SIGABRT else { return nil }
    return told
  }

  /// The si_code of a page fault.
  ///
  /// Error code: if bit 5 is set, a protection key forbids the access. If bit 0 is set, the page exists, but its
  /// permissions forbid the access.
  private var pageFaultCode: Int32 { error & 32 != 0 ? 4 : error & 1 != 0 ? 2 : 1 }
}

extension CrashRecord {
  /// The processor exception of a fault, if a handler re-raised the signal while the signal was blocked, and then
  /// returned.
  ///
  /// In this case, the record's registers are the registers of the fault. RF alone is not sufficient evidence, because
  /// the first access to a page also sets RF. In addition, the exception in the record is possibly that of an earlier
  /// fault that the thread survived. Therefore, the instruction must be able to raise the exception. The value is nil
  /// if the instruction cannot raise the exception, or if the signal has another cause.
  var pendingException_x86_64: Exception_x86_64? {
    guard registers.indices.contains(architecture.programCounter) else { return nil }
    let exception = Exception_x86_64(number: trapNumber, error: errorCode, address: faultAddress)
    let decoded = InstructionDecoder_x86_64.decode(instruction)
    // The code recognizes a page fault by its address, so RF is not required. After a breakpoint, RF is not set,
    // because a breakpoint is a trap whose pc is after the instruction.
    guard trapNumber == 14 || trapNumber == 3 || flags & Exception_x86_64.resumeFlag != 0 else { return nil }
    let isMade =
      switch trapNumber {
      // Exception number 0 is a division error, but the kernel also uses 0 if there was no exception.
      case 0: signal == SIGFPE && decoded?.isDivision == true
      // The shield's handler has already checked that the byte before pc is a breakpoint instruction. Exclude the start
      // of a function, where the byte before pc is padding and not an executed instruction.
      case 3: frames.first.map { $0.functionStart != registers[architecture.programCounter] } ?? false
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

  /// The opcodes of ud2, ud1 and ud0, which are undefined instructions.
  private static let undefined: [[UInt8]] = [[0x0f, 0x0b], [0x0f, 0xb9], [0x0f, 0xff]]
  /// The alignment check flag (AC) in the flags register.
  ///
  /// If AC is not set, the processor does not check the alignment of ordinary accesses.
  private static let alignmentFlag: UInt64 = 1 << 18

  /// The opcode of a vector instruction, after the byte 0F or a VEX prefix; nil for other instructions.
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

  /// Whether the instruction raises a general protection fault, because the instruction is privileged, or because the
  /// address of an operand is not canonical.
  private func isRefused(_ decoded: MachineInstruction) -> Bool {
    if decoded.isPrivileged || decoded.operand(faultingAt: nil, registers: registers) != nil { return true }
    let memory = MemoryWords([MemoryWords.Piece(start: stackStart, bytes: stack)])
    return decoded.target?.value(registers, memory).map { !architecture.isCanonical($0) } ?? false
  }

  /// Whether this instruction raised the page fault, as opposed to an earlier instruction whose fault the thread
  /// survived.
  private func isTied(_ exception: Exception_x86_64, by decoded: MachineInstruction?) -> Bool {
    if exception.address == registers[architecture.programCounter] { return true }
    guard let decoded, !decoded.hasUnknownOperand else {
      return flags & Exception_x86_64.resumeFlag != 0
        && SignalFrame_x86_64.isTied(trap: trapNumber, exception.address, registers)
    }
    return decoded.operand(faultingAt: exception.address, registers: registers) != nil
  }
}
