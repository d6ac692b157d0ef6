// The rules for causes that the Swift runtime, glibc, or the sender of a signal reported.
import CrashReport
import CrashRing
import Glibc

extension DiagnosisRule {
  static let stated: [DiagnosisRule] = [
    DiagnosisRule("sent-signal", 1, on: [.signal, .sender]) { facts in
      guard facts.isSentByOther else { return nil }
      let who =
        facts.isSentFromOutside
        ? "A process outside of its container, or pid namespace," : "Process \(facts.record.senderPid)"
      return "\(who) (uid \(facts.record.senderUid)) sent it \(SignalText.name(facts.record.signal)); it was"
    },
    DiagnosisRule("timer-signal", 1, on: [.signal]) { facts in
      facts.isTimer ? "A timer of the program sent it \(SignalText.name(facts.record.signal)); it was" : nil
    },
    // This rule ignores earlier runtime error messages, because the trap instruction has its own reason, which the
    // compiler stored in debug information.
    DiagnosisRule("swift-runtime-failure", 1, on: [.signal, .runtimeFailure]) { facts in
      guard facts.isTrapWithReason, let text = facts.runtimeFailure else { return nil }
      return "Swift stopped the program: \(text)"
    },
    DiagnosisRule("swift-fatal-error", 1, on: [.signal, .message, .frames]) { facts in
      guard !facts.message.isEmpty else { return nil }
      let text = MessageText.core(facts.message)
      return "Swift stopped the program" + (text.isEmpty ? "" : ": \(text)")
    },
    // The rule for assertions must precede the rules for other messages of glibc. The message of an assertion contains
    // the program's expression, which can look like another message.
    DiagnosisRule("assertion", 1, on: [.signal, .abortMessage]) { facts in
      guard facts.isStop, MessageText.isAssertion(facts.record.abortMessage) else { return nil }
      return "An assertion failed: \(MessageText.line(facts.record.abortMessage))"
    },
    DiagnosisRule("heap-corruption", 0.95, on: [.signal, .abortMessage]) { facts in
      guard facts.record.signal == SIGABRT, MessageText.isHeapMessage(facts.record.abortMessage) else { return nil }
      return "The heap is damaged: \(MessageText.line(facts.record.abortMessage)), noticed"
    },
    DiagnosisRule("stack-smashing", 1, on: [.signal, .abortMessage]) { facts in
      guard facts.record.signal == SIGABRT, facts.record.abortMessage.hasPrefix("*** stack smashing detected") else {
        return nil
      }
      return "A function wrote past the end of a buffer on its stack"
    },
    DiagnosisRule("buffer-overflow", 1, on: [.signal, .abortMessage]) { facts in
      guard facts.record.signal == SIGABRT, facts.record.abortMessage.hasPrefix("*** buffer overflow detected") else {
        return nil
      }
      return "glibc stopped a copy that would have run past the end of its buffer,"
    },
    DiagnosisRule("abort-message", 0.95, on: [.signal, .abortMessage]) { facts in
      guard facts.record.signal == SIGABRT, !facts.record.abortMessage.isEmpty else { return nil }
      return "The program aborted: \(MessageText.line(facts.record.abortMessage))"
    },
    DiagnosisRule("cxx-exception", 0.9, on: [.signal, .exception, .frames]) { facts in
      guard facts.record.signal == SIGABRT, !facts.record.exceptionType.isEmpty, facts.isTerminating else { return nil }
      return "Uncaught C++ exception of type \(facts.exceptionType)"
    },
    // This rule has a lower confidence than the other rules for stated causes. The reason is that the exception that a
    // `catch` block caught stays the current exception while the block runs, and the block can call abort() for another
    // reason.
    DiagnosisRule(
      "cxx-exception-current", cause: .init("cxx-exception"), 0.6, on: [.signal, .exception, .frames]
    ) { facts in
      guard facts.record.signal == SIGABRT, !facts.record.exceptionType.isEmpty, !facts.isAbortCalledByOwn else {
        return nil
      }
      return "The program aborted while a C++ exception of type \(facts.exceptionType) was handled, perhaps uncaught,"
    },
  ]

  /// The rules for causes without a message.
  static let wordless: [DiagnosisRule] = [
    // abort() sends SIGABRT with the code SI_TKILL (-6). raise() sends the same code, so the two cannot be
    // distinguished here.
    DiagnosisRule("abort", 1, on: [.signal]) { facts in
      facts.record.signal == SIGABRT && facts.record.code == -6 ? "The program called abort()" : nil
    },
    DiagnosisRule("raised-signal", 1, on: [.signal, .sender]) { facts in
      guard facts.hasSender else { return nil }
      return "The program sent itself \(SignalText.name(facts.record.signal))"
    },
  ]
}
