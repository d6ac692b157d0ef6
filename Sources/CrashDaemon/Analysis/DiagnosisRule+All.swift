import CrashRing
import Glibc

extension DiagnosisRule {
  /// In the order in which they are asked: what somebody stated before what is inferred.
  static let all: [DiagnosisRule] = stated + memory + instructions

  /// Below this, an address is a null pointer and an offset: no mapping can be there (vm.mmap_min_addr).
  private static let nullPage: UInt64 = 65_536

  private static let stated: [DiagnosisRule] = [
    DiagnosisRule("sent-signal", 1) { facts in
      guard facts.isSentByOther else { return nil }
      return "Process \(facts.record.senderPid) (uid \(facts.record.senderUid)) sent it "
        + "\(SignalText.name(facts.record.signal)); it was"
    },
    DiagnosisRule("swift-runtime-failure", 1) { facts in
      guard facts.record.message.isEmpty, let text = facts.runtimeFailure else { return nil }
      return "Swift stopped the program: \(text)"
    },
    DiagnosisRule("swift-fatal-error", 1) { facts in
      guard !facts.record.message.isEmpty,
        facts.record.signal == SIGILL || facts.record.signal == SIGTRAP
          || facts.record.signal == SIGABRT
      else { return nil }
      return "Swift stopped the program: \(MessageText.core(facts.record.message))"
    },
    DiagnosisRule("heap-corruption", 0.95) { facts in
      guard facts.record.signal == SIGABRT, MessageText.isHeapMessage(facts.record.abortMessage) else { return nil }
      return "The heap is damaged: \(MessageText.line(facts.record.abortMessage)), noticed"
    },
    DiagnosisRule("stack-smashing", 1) { facts in
      guard facts.record.signal == SIGABRT, facts.record.abortMessage.contains("stack smashing detected") else {
        return nil
      }
      return "A function wrote past the end of a buffer on its stack"
    },
    DiagnosisRule("assertion", 1) { facts in
      guard facts.record.signal == SIGABRT, facts.record.abortMessage.contains("Assertion `") else { return nil }
      return "An assertion failed: \(MessageText.line(facts.record.abortMessage))"
    },
    DiagnosisRule("abort-message", 0.95) { facts in
      guard facts.record.signal == SIGABRT, !facts.record.abortMessage.isEmpty else { return nil }
      return "The program aborted: \(MessageText.line(facts.record.abortMessage))"
    },
    DiagnosisRule("cxx-exception", 0.9) { facts in
      guard facts.record.signal == SIGABRT, !facts.record.exceptionType.isEmpty else { return nil }
      return "Nobody caught a C++ exception of type \(facts.exceptionType)"
    },
    DiagnosisRule("abort", 1) { facts in
      facts.record.signal == SIGABRT ? "The program called abort()" : nil
    },
    DiagnosisRule("raised-signal", 1) { facts in
      guard facts.isSent else { return nil }
      return "The program sent itself \(SignalText.name(facts.record.signal))"
    },
  ]

  private static let memory: [DiagnosisRule] = [
    DiagnosisRule("null-call", cause: "null-call", 0.95) { facts in
      guard facts.isMemoryFault, facts.isFetch, facts.record.address == 0 else { return nil }
      return "The program called through a null function pointer"
    },
    DiagnosisRule("null-pointer", 0.95) { facts in
      guard facts.isMemoryFault, facts.record.address == 0 else { return nil }
      return "Null pointer: \(facts.access) address 0"
    },
    DiagnosisRule("null-pointer-offset", 0.9) { facts in
      guard facts.isMemoryFault, facts.record.address < nullPage else { return nil }
      return "Null pointer: \(facts.access) offset \(facts.record.address) of null"
    },
    DiagnosisRule("stack-overflow", 0.95) { facts in
      guard facts.isMemoryFault, !facts.isFetch else { return nil }
      let isDeep = facts.isNearStackPointer && facts.record.frameTotal >= 64
      guard isDeep || facts.isBelowStack && facts.isStackWhole else { return nil }
      return "The stack overflowed, \(facts.record.frameTotal) calls deep,"
    },
    DiagnosisRule("stack-overflow-shallow", cause: "stack-overflow", 0.7) { facts in
      guard facts.isMemoryFault, !facts.isFetch, facts.isNearStackPointer || facts.isBelowStack else { return nil }
      return "The stack overflowed, or the stack pointer is wrong,"
    },
    DiagnosisRule("jump-to-data", 0.95) { facts in
      guard facts.isDenied, facts.isFetch else { return nil }
      return "Jump to \(facts.address), which holds no code"
    },
    DiagnosisRule("jump-to-unmapped", 0.95) { facts in
      guard facts.isMemoryFault, facts.isFetch else { return nil }
      return "Jump to \(facts.address), where nothing is mapped"
    },
    DiagnosisRule("read-only-write", 0.95) { facts in
      guard facts.isDenied, facts.isWrite else { return nil }
      return "Write to \(facts.address), which is read-only"
    },
    DiagnosisRule("protected-memory", 0.9) { facts in
      guard facts.isDenied else { return nil }
      return "Read of \(facts.address), which may not be read"
    },
    DiagnosisRule("wild-pointer", 0.8) { facts in
      guard facts.isMemoryFault else { return nil }
      return "Bad pointer: \(facts.access) \(facts.address), where nothing is mapped,"
    },
    DiagnosisRule("privileged-instruction", 0.9) { facts in
      guard facts.isGeneralProtection, facts.isPrivilegedInstruction else { return nil }
      return "The program used an instruction that only the kernel may use"
    },
    // si_code 128 with si_addr 0 is no null dereference: the processor did not tell the address.
    DiagnosisRule("non-canonical", 0.9) { facts in
      guard facts.isGeneralProtection else { return nil }
      return
        "Bad pointer: access to an address that no pointer can have (non-canonical; the processor does not tell which)"
    },
    DiagnosisRule("truncated-mapping", 0.9) { facts in
      guard facts.record.signal == SIGBUS, facts.record.code == 2 else { return nil }
      return "Access to \(facts.address), behind the end of the file that is mapped there,"
    },
    DiagnosisRule("misaligned-access", 0.9) { facts in
      guard facts.record.signal == SIGBUS, facts.record.code == 1 else { return nil }
      return "Misaligned access to \(facts.address)"
    },
    DiagnosisRule("hardware-memory-error", 1) { facts in
      guard facts.record.signal == SIGBUS, facts.record.code == 4 || facts.record.code == 5 else { return nil }
      return "The hardware reported a memory error at \(facts.address)"
    },
  ]

  private static let instructions: [DiagnosisRule] = [
    DiagnosisRule("trap", 0.9) { facts in
      guard facts.record.signal == SIGILL, facts.begins(with: [0x0f, 0x0b]) else { return nil }
      return "The program stopped itself at a trap instruction"
    },
    DiagnosisRule("illegal-instruction", 0.95) { facts in
      facts.record.signal == SIGILL ? "The processor does not know the instruction" : nil
    },
    DiagnosisRule("breakpoint", 0.9) { facts in
      facts.record.signal == SIGTRAP ? "The program ran into a breakpoint instruction" : nil
    },
    DiagnosisRule("integer-division", 0.95) { facts in
      guard facts.record.signal == SIGFPE, facts.record.code == 1 || facts.record.code == 2 else { return nil }
      return "Integer division by zero, or its result does not fit,"
    },
    DiagnosisRule("floating-point", 0.95) { facts in
      facts.record.signal == SIGFPE ? "A floating-point operation failed" : nil
    },
    DiagnosisRule("blocked-system-call", 1) { facts in
      guard facts.record.signal == SIGSYS else { return nil }
      let number = facts.record.systemCall.map { " \($0)" } ?? ""
      return "A seccomp filter forbade system call\(number)"
    },
  ]
}
