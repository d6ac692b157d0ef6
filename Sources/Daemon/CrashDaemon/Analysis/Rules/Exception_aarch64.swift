import CrashReport
import CrashRing
import Glibc

/// An AArch64 processor exception, in the form in which Linux stores it with the registers of a thread.
struct Exception_aarch64: Sendable {
  /// The syndrome of the exception (ESR); 0 if the kernel provided none.
  var syndrome: UInt64
  /// The address of a data or instruction abort (FAR).
  var address: UInt64

  enum Kind: Equatable {
    case undefined
    case fetch
    case access
    case misalignedPC
    case misalignedSP
    case breakpoint
    case other
  }

  var kind: Kind {
    switch syndrome >> 26 & 0x3f {
    case 0x00, 0x0e: .undefined
    case 0x20: .fetch
    case 0x22: .misalignedPC
    case 0x24: .access
    case 0x26: .misalignedSP
    case 0x3c: .breakpoint
    default: .other
    }
  }

  /// Whether the exception is a data abort of a write.
  ///
  /// Cache maintenance instructions (bit 8) set the write bit, but need only read access.
  var isWrite: Bool { kind == .access && syndrome & 0x140 == 0x40 }

  /// Returns the signal that the kernel raises for the exception.
  /// - Parameters:
  ///   - pc: The address of the instruction that raised the exception.
  ///   - expected: The signal that was delivered. For SIGABRT, the function accepts any exception.
  /// - Returns: The signal; nil if the exception raises no signal, or a signal other than the delivered one.
  func signal(pc: UInt64, expecting expected: Int32) -> (signal: Int32, code: Int32, address: UInt64)? {
    guard syndrome != 0 else { return nil }
    let told: (signal: Int32, code: Int32, address: UInt64)? =
      switch kind {
      case .undefined: (SIGILL, 1, pc)
      case .breakpoint: (SIGTRAP, CrashRecord.breakpointCode, pc)
      // For a misaligned pc, use pc as the address, because the kernel stores no fault address.
      case .misalignedPC: (SIGBUS, 1, pc)
      case .misalignedSP: (SIGBUS, 1, address)
      case .fetch, .access: abort(expected)
      case .other: nil
      }
    guard let told, told.signal == expected || expected == SIGABRT else { return nil }
    return told
  }

  /// Returns the signal for a data or instruction abort, according to the status code in the lowest bits of the
  /// syndrome.
  private func abort(_ expected: Int32) -> (signal: Int32, code: Int32, address: UInt64) {
    switch syndrome & 0x3f {
    case 0x21: (SIGBUS, 1, address)
    // SIGBUS means that the accessed page is after the end of the mapped file, or could not be read from the file.
    case _ where expected == SIGBUS: (SIGBUS, 2, address)
    // The page exists, but its permissions forbid the access.
    case 0x0c...0x0f: (SIGSEGV, 2, address)
    default: (SIGSEGV, 1, address)
    }
  }
}

extension CrashRecord {
  /// The processor exception of a fault, if a handler re-raised the signal while the signal was blocked, and then
  /// returned.
  ///
  /// In this case, the record's registers are the registers of the fault. The exception in the record is possibly that
  /// of an earlier fault that the thread survived. Therefore, the instruction must be able to raise the exception. The
  /// value is nil if the instruction cannot raise the exception.
  var pendingException_aarch64: Exception_aarch64? {
    guard registers.indices.contains(architecture.programCounter), errorCode != 0 else { return nil }
    let exception = Exception_aarch64(syndrome: errorCode, address: faultAddress)
    let decoded = InstructionDecoder_aarch64.decode(instruction)
    let isMade =
      switch exception.kind {
      case .undefined: instruction.count >= 4 && decoded == nil || decoded?.isPrivileged == true
      case .fetch: faultAddress == registers[architecture.programCounter]
      case .misalignedPC: registers[architecture.programCounter] & 3 != 0
      case .access: decoded?.operand(faultingAt: faultAddress, registers: registers) != nil
      case .breakpoint: isBreakpoint
      case .misalignedSP, .other: false
      }
    return isMade ? exception : nil
  }
}
