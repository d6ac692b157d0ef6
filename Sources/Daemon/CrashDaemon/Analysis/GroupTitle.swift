import CrashReport
import CrashRing

/// The beginning of a crash group's title.
///
/// The beginning describes the cause in the same words for each crash of the group.
enum GroupTitle {
  private static let limit = 80

  /// Returns the beginning of the title, such as `stack overflow`, `use-after-free of Basket` or `Index out of range`.
  static func text(of diagnosis: CrashReport.Diagnosis, _ facts: CrashFacts) -> String {
    let text = words(of: diagnosis, facts)
    return text.count <= limit ? text : text.prefix(limit - 1) + "…"
  }

  private static func words(of diagnosis: CrashReport.Diagnosis, _ facts: CrashFacts) -> String {
    let cause = diagnosis.cause.rawValue
    if diagnosis.cause == .dangling {
      return "use-after-free" + (diagnosis.objectClass.map { " of \(CleanText.line($0))" } ?? "")
    }
    switch cause {
    case "swift-runtime-failure", "swift-fatal-error":
      let message = facts.runtimeFailure.map(MessageText.line) ?? ""
      let words = message.isEmpty ? MessageText.core(facts.message) : message
      return words.isEmpty ? facts.kind : words
    case "null-pointer", "null-pointer-offset": return "null pointer"
    case "null-call": return "call of a null pointer"
    case "wild-pointer", "bit-flip", "non-canonical": return "bad pointer"
    case "read-only-write": return "write to read-only memory"
    case "protected-memory": return "read of protected memory"
    case "truncated-mapping": return "access past the end of a mapped file"
    case "assertion": return "failed assertion"
    case "cxx-exception": return "uncaught C++ exception of type \(facts.exceptionType)"
    case "heap-corruption", "abort-message":
      let message = MessageText.line(facts.record.abortMessage)
      return message.isEmpty ? cause.replacing("-", with: " ") : message
    case "signal", "sent-signal", "raised-signal", "timer-signal":
      return facts.isSent ? "\(SignalText.name(facts.record.signal)), sent" : facts.kind
    default: return cause.replacing("-", with: " ")
    }
  }
}
