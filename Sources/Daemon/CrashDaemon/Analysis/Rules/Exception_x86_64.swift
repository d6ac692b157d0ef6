import CrashRing
import Glibc

/// An exception of the processor's, as Linux notes it beside a thread's registers.
struct Exception_x86_64: Sendable {
  var number: UInt64
  var error: UInt64
  /// cr2: of a page fault.
  var address: UInt64

  /// RF: the flags that a fault saves have it, and the next instruction clears it.
  static let resumeFlag: UInt64 = 1 << 16

  /// The signal that the kernel makes of it.
  /// - Parameters:
  ///   - pc: Where the exception was.
  ///   - expected: What was delivered; SIGABRT tells nothing of the exception before it.
  /// - Returns: It; nil where the kernel makes none of it, or another one than was delivered.
  func signal(pc: UInt64, expecting expected: Int32) -> (signal: Int32, code: Int32, address: UInt64)? {
    let told: (signal: Int32, code: Int32, address: UInt64)? =
      switch number {
      case 0 where expected == SIGFPE: (SIGFPE, 1, pc)
      case 3: (SIGTRAP, 128, 0)
      case 6: (SIGILL, 2, pc)
      case 12: (SIGBUS, 128, 0)
      case 13: (SIGSEGV, 128, 0)
      // A page that its file has no more.
      case 14 where expected == SIGBUS: (SIGBUS, 2, address)
      case 14: (SIGSEGV, pageFaultCode, address)
      // Floating point: which operation, only its own registers tell (FPE_FLTUNK).
      case 16, 19: (SIGFPE, 14, pc)
      case 17: (SIGBUS, 1, 0)
      default: nil
      }
    guard let told, told.signal == expected || expected == SIGABRT else { return nil }
    return told
  }

  /// Bit 5: a protection key forbids it; bit 0: the page is there, and its rights do.
  private var pageFaultCode: Int32 { error & 32 != 0 ? 4 : error & 1 != 0 ? 2 : 1 }
}

extension CrashRecord {
  /// The exception of a fault whose handler raised its signal while that was blocked, and has returned.
  ///
  /// The registers are those of the fault again. Nil where the signal was sent for another reason.
  var pendingException_x86_64: Exception_x86_64? {
    guard registers.indices.contains(RegisterNames.pc) else { return nil }
    let exception = Exception_x86_64(number: trapNumber, error: errorCode, address: faultAddress)
    let isFault = flags & Exception_x86_64.resumeFlag != 0
    let decoded = InstructionDecoder_x86_64.decode(instruction)
    switch trapNumber {
    // None, or a division.
    case 0: return isFault && signal == SIGFPE && decoded?.isDivision == true ? exception : nil
    // Its pc is past it: no fault, and the handler of the shield has compared the byte before.
    case 3: return exception
    case 14: return isTied(exception, by: decoded, isFault: isFault) ? exception : nil
    default: return isFault ? exception : nil
    }
  }

  /// Whether the page fault is of this instruction, and not an earlier one's, which the thread survived.
  private func isTied(_ exception: Exception_x86_64, by decoded: MachineInstruction?, isFault: Bool) -> Bool {
    if exception.address == registers[RegisterNames.pc] { return true }
    guard let decoded, !decoded.hasUnknownOperand else { return isFault }
    return decoded.operand(faultingAt: exception.address, registers: registers) != nil
  }
}
