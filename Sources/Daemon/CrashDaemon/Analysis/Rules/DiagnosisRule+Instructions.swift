// The rules for faults that are not memory accesses.
import CrashReport
import CrashRing
import Glibc

extension DiagnosisRule {
  static let instructions: [DiagnosisRule] = [
    DiagnosisRule("trap", 0.9, on: [.signal, .instruction]) { facts in
      facts.record.isTrap ? "The program stopped itself at a trap instruction" : nil
    },
    // This rule applies if the record does not contain the faulting instruction, for example because a handler
    // re-raised the signal.
    DiagnosisRule("trap-unseen", cause: .init("trap"), 0.6, on: [.signal, .instruction]) { facts in
      guard facts.record.instruction.isEmpty else { return nil }
      if facts.record.signal == SIGILL {
        return "The program stopped itself, or the processor does not support an instruction,"
      }
      return facts.record.isTrapSignal ? "The program stopped itself, or ran into a breakpoint instruction," : nil
    },
    DiagnosisRule("illegal-instruction", 0.95, on: [.signal, .instruction]) { facts in
      let isTrap = facts.record.instruction.isEmpty || facts.record.isTrap
      return facts.record.signal == SIGILL && !isTrap ? "The processor does not support the instruction" : nil
    },
    DiagnosisRule("breakpoint", 0.9, on: [.signal]) { facts in
      facts.record.signal == SIGTRAP ? "The program ran into a breakpoint instruction" : nil
    },
    DiagnosisRule("integer-division", 0.95, on: [.signal, .instruction]) { facts in
      guard facts.record.signal == SIGFPE, facts.record.code == 1 || facts.record.code == 2 else { return nil }
      return "Integer division by zero, or the quotient does not fit,"
    },
    DiagnosisRule("floating-point", 0.95, on: [.signal]) { facts in
      facts.record.signal == SIGFPE ? "A floating-point operation failed" : nil
    },
    DiagnosisRule("blocked-system-call", 1, on: [.signal, .systemCall]) { facts in
      guard facts.record.signal == SIGSYS else { return nil }
      let number = facts.record.systemCall.map { " \($0)" } ?? ""
      return "A seccomp filter forbade system call\(number)"
    },
  ]
}
