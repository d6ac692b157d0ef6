// What somebody stated: the runtime, glibc, the sender of a signal.
import CrashRing
import Glibc

extension DiagnosisRule {
  static let stated: [DiagnosisRule] = [
    DiagnosisRule("sent-signal", 1, on: [.signal, .sender]) { facts in
      guard facts.isSentByOther else { return nil }
      return "Process \(facts.record.senderPid) (uid \(facts.record.senderUid)) sent it "
        + "\(SignalText.name(facts.record.signal)); it was"
    },
    DiagnosisRule("swift-runtime-failure", 1, on: [.message, .runtimeFailure]) { facts in
      guard facts.record.message.isEmpty, let text = facts.runtimeFailure else { return nil }
      return "Swift stopped the program: \(text)"
    },
    DiagnosisRule("swift-fatal-error", 1, on: [.signal, .message]) { facts in
      guard !facts.record.message.isEmpty,
        facts.record.signal == SIGILL || facts.record.signal == SIGTRAP
          || facts.record.signal == SIGABRT
      else { return nil }
      return "Swift stopped the program: \(MessageText.core(facts.record.message))"
    },
    DiagnosisRule("heap-corruption", 0.95, on: [.signal, .abortMessage]) { facts in
      guard facts.record.signal == SIGABRT, MessageText.isHeapMessage(facts.record.abortMessage) else { return nil }
      return "The heap is damaged: \(MessageText.line(facts.record.abortMessage)), noticed"
    },
    DiagnosisRule("stack-smashing", 1, on: [.signal, .abortMessage]) { facts in
      guard facts.record.signal == SIGABRT, facts.record.abortMessage.contains("stack smashing detected") else {
        return nil
      }
      return "A function wrote past the end of a buffer on its stack"
    },
    DiagnosisRule("assertion", 1, on: [.signal, .abortMessage]) { facts in
      guard facts.record.signal == SIGABRT, facts.record.abortMessage.contains("Assertion `") else { return nil }
      return "An assertion failed: \(MessageText.line(facts.record.abortMessage))"
    },
    DiagnosisRule("abort-message", 0.95, on: [.signal, .abortMessage]) { facts in
      guard facts.record.signal == SIGABRT, !facts.record.abortMessage.isEmpty else { return nil }
      return "The program aborted: \(MessageText.line(facts.record.abortMessage))"
    },
    DiagnosisRule("cxx-exception", 0.9, on: [.signal, .exception]) { facts in
      guard facts.record.signal == SIGABRT, !facts.record.exceptionType.isEmpty else { return nil }
      return "Nobody caught a C++ exception of type \(facts.exceptionType)"
    },
  ]

  /// Where nobody stated more.
  static let wordless: [DiagnosisRule] = [
    DiagnosisRule("abort", 1, on: [.signal]) { facts in
      facts.record.signal == SIGABRT ? "The program called abort()" : nil
    },
    DiagnosisRule("raised-signal", 1, on: [.signal, .sender]) { facts in
      guard facts.isSent else { return nil }
      return "The program sent itself \(SignalText.name(facts.record.signal))"
    },
  ]
}
