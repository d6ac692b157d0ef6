import CrashRing
import Glibc

/// A processor exception, as Linux stores it beside a thread's registers.
struct Exception_x86_64: Sendable {
  var number: UInt64
  var error: UInt64
  /// cr2: the address of a page fault.
  var address: UInt64

  /// RF: set in the flags that a fault saves; the next instruction clears it.
  static let resumeFlag: UInt64 = 1 << 16

  /// The signal that the kernel raises for it.
  /// - Parameters:
  ///   - pc: The address of the exception.
  ///   - expected: The delivered signal; SIGABRT says nothing about the exception before it.
  /// - Returns: The signal; nil where the exception raises none, or another one than was delivered.
  func signal(pc: UInt64, expecting expected: Int32) -> (signal: Int32, code: Int32, address: UInt64)? {
    let told: (signal: Int32, code: Int32, address: UInt64)? =
      switch number {
      case 0 where expected == SIGFPE: (SIGFPE, 1, pc)
      case 3: (SIGTRAP, 128, 0)
      case 6: (SIGILL, 2, pc)
      case 12: (SIGBUS, 128, 0)
      case 13: (SIGSEGV, 128, 0)
      // A page beyond the end of its file.
      case 14 where expected == SIGBUS: (SIGBUS, 2, address)
      case 14: (SIGSEGV, pageFaultCode, address)
      // Floating point: only the FPU's own registers show the operation (FPE_FLTUNK).
      case 16, 19: (SIGFPE, 14, pc)
      case 17: (SIGBUS, 1, 0)
      default: nil
      }
    guard let told, told.signal == expected || expected == SIGABRT else { return nil }
    return told
  }

  /// Bit 5: a protection key forbids it; bit 0: the page exists, and its rights forbid it.
  private var pageFaultCode: Int32 { error & 32 != 0 ? 4 : error & 1 != 0 ? 2 : 1 }
}

extension CrashRecord {
  /// The exception of a fault whose handler re-raised its signal while that was blocked, and returned.
  ///
  /// The registers are those of the fault again. RF alone proves nothing: the first access to a page sets it too, and
  /// leaves the exception of an earlier fault that the thread survived. So the instruction must be one that raises this
  /// exception. Nil where it is not, and where the signal was sent for another reason.
  var pendingException_x86_64: Exception_x86_64? {
    guard registers.indices.contains(RegisterNames.pc) else { return nil }
    let exception = Exception_x86_64(number: trapNumber, error: errorCode, address: faultAddress)
    let decoded = InstructionDecoder_x86_64.decode(instruction)
    // A page fault has an address, and a breakpoint is no fault: its pc is after it.
    guard trapNumber == 14 || trapNumber == 3 || flags & Exception_x86_64.resumeFlag != 0 else { return nil }
    let isMade =
      switch trapNumber {
      // None, or a division.
      case 0: signal == SIGFPE && decoded?.isDivision == true
      // The shield's handler has compared the byte before; at the start of a function that is padding.
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

  /// ud2, ud1, ud0.
  private static let undefined: [[UInt8]] = [[0x0f, 0x0b], [0x0f, 0xb9], [0x0f, 0xff]]
  /// AC: without it nothing is checked.
  private static let alignmentFlag: UInt64 = 1 << 18

  /// The opcode of a vector instruction: after 0F or in VEX; nil for any other.
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

  /// Whether it fails without a page fault: a non-canonical address, or a privileged instruction.
  private func isRefused(_ decoded: MachineInstruction) -> Bool {
    if decoded.isPrivileged || decoded.operand(faultingAt: nil, registers: registers) != nil { return true }
    let memory = MemoryWords([MemoryWords.Piece(start: stackStart, bytes: stack)])
    return decoded.target?.value(registers, memory).map { !$0.isCanonical } ?? false
  }

  /// Whether the page fault belongs to this instruction, and not to an earlier one that the thread survived.
  private func isTied(_ exception: Exception_x86_64, by decoded: MachineInstruction?) -> Bool {
    if exception.address == registers[RegisterNames.pc] { return true }
    guard let decoded, !decoded.hasUnknownOperand else {
      return flags & Exception_x86_64.resumeFlag != 0
        && SignalFrame_x86_64.isTied(trap: trapNumber, exception.address, registers)
    }
    return decoded.operand(faultingAt: exception.address, registers: registers) != nil
  }
}
