// The rules for use-after-free.
import CrashReport
import CrashRing
import Glibc

extension DiagnosisRule {
  /// The rules for causes that the Swift runtime or the quarantine (which keeps deallocated objects) reported.
  static let danglingStated: [DiagnosisRule] = [
    DiagnosisRule(
      "dangling-unowned", cause: .dangling, 1, on: [.signal, .message, .frames],
      headline: { "Use-after-free: an unowned reference to \(aFreed($0, "dangling-unowned")) was read" }
    ) { facts in
      let isSaid = facts.message.contains("Attempted to read an unowned reference")
      let isSeen = facts.frames.prefix(4).contains { $0.mangled.contains("swift_abortRetainUnowned") }
      guard facts.record.signal == SIGABRT || facts.record.isTrapSignal, isSaid || isSeen else { return nil }
      let message = isSaid ? ": \(MessageText.core(facts.message))" : ""
      let of = facts.record.objectClass.isEmpty ? "" : ", a \(facts.record.objectClass)"
      return "An unowned reference outlived its object\(of)\(message)"
    },
    DiagnosisRule(
      "dangling-poison", cause: .dangling, 1, on: [.signal, .operand], headline: { use($0, "dangling-poison") }
    ) { facts in
      facts.poison.map { "A \($0.className) was used after it was freed: \($0.text);" }
    },
    // `dangling-held` is a separate rule with a lower confidence than the preceding rules, because an empty field of an
    // object in quarantine is weaker evidence.
    DiagnosisRule(
      "dangling-held", cause: .dangling, 0.8, on: [.signal, .operand, .frames, .freedRecords, .code],
      headline: { use($0, "dangling-held") }
    ) { facts in
      guard let found = facts.heldObject else { return nil }
      if let failure = facts.runtimeFailure { return found.text("the check failed: \(failure)") }
      return found.text("the use led to a \(facts.access) \(facts.record.address)") + ";"
    },
    DiagnosisRule(
      "dangling-escaped", cause: .dangling, 1, on: [.signal, .message],
      headline: { _ in "Use-after-free: a reference to an object escaped from its deinit" }
    ) { facts in
      guard facts.message.contains("deallocated with non-zero retain count") else { return nil }
      return "A reference escaped from deinit: \(MessageText.core(facts.message))"
    },
  ]

  /// The name of the rule for a value other than null that the code before the fault loaded from a freed block.
  static let field = "dangling-field"
  /// The name of the rule for a null that the code before the fault loaded from a freed block.
  ///
  /// This rule has a lower confidence than `field`. Zeros are common in memory, and a jump from another part of the
  /// code can skip the load.
  static let nullField = "dangling-field-null"
  /// The name of the rule for a reused block whose expected class is the type of a variable in scope.
  static let reuse = "dangling-reuse"
  /// The name of the rule for a reused block whose expected class occurs only in the code of a function.
  static let reuseByCode = "dangling-reuse-named"

  /// The rules that infer a use-after-free from freed memory.
  ///
  /// All of these rules have a confidence below 1.
  static let dangling: [DiagnosisRule] = [
    DiagnosisRule(
      "dangling-operand", cause: .dangling, 0.95, on: [.signal, .operand, .memory, .heap],
      headline: { use($0, "dangling-operand") }
    ) { facts in
      facts.danglingOperand.map { "An object was used after it was freed: \($0.text)\(facts.freedClassText);" }
    },
    DiagnosisRule(
      "dangling-call", cause: .dangling, 0.9, on: [.signal, .pc, .instruction, .memory, .heap],
      headline: { "Use-after-free: a function was called through \(aFreed($0, "dangling-call"))" }
    ) { facts in
      facts.danglingCall.map {
        "A function was called through memory that was freed: \($0.text)\(facts.freedClassText);"
      }
    },
    DiagnosisRule(
      "dangling-self", cause: .dangling, 0.8, on: [.signal, .pc, .instruction, .memory, .heap, .frames],
      headline: { "Use-after-free: a method of \(aFreed($0, "dangling-self")) was called" }
    ) { facts in
      facts.danglingSelf.map { "A method was called on an object that was freed: \($0.text)\(facts.freedClassText);" }
    },
    DiagnosisRule(
      "dangling-remains", cause: .dangling, 0.9, on: [.signal, .operand, .heap],
      headline: { use($0, "dangling-remains") }
    ) { facts in
      facts.danglingRemains.map { "An object was used after it was freed: \($0);" }
    },
    DiagnosisRule(
      "dangling-ghost", cause: .dangling, 0.8,
      on: [.signal, .pc, .instruction, .operand, .memory, .frames, .freedRecords],
      headline: { use($0, "dangling-ghost") }
    ) { facts in
      facts.danglingFreedRecord.map { "An object was used after it was freed: \($0.text);" }
    },
    DiagnosisRule(
      field, cause: .dangling, 0.8, on: [.signal, .operand, .memory, .heap, .code], headline: { use($0, field) }
    ) { facts in
      facts.fieldLoad?.value == 0 ? nil : fieldText(facts)
    },
    DiagnosisRule(
      nullField, cause: .dangling, 0.6, on: [.signal, .operand, .memory, .heap, .code], headline: { use($0, nullField) }
    ) { facts in
      facts.fieldLoad?.value == 0 ? fieldText(facts) : nil
    },
    DiagnosisRule(
      reuse, cause: .dangling, 0.7, on: [.signal, .pc, .instruction, .operand, .memory, .frames],
      headline: { use($0, reuse) + " after its memory was reused" }
    ) { facts in
      facts.danglingReuse.flatMap {
        $1.isOfVariable ? reused($0, $1, "the code expects an instance of \($1.name)") : nil
      }
    },
    DiagnosisRule(
      reuseByCode, cause: .dangling, 0.6, on: [.signal, .pc, .instruction, .operand, .memory, .frames],
      headline: { use($0, reuseByCode) + " after its memory was reused" }
    ) { facts in
      facts.danglingReuse.flatMap { $1.isOfVariable ? nil : reused($0, $1, "the code names \($1.name)") }
    },
  ]

  /// Returns the headline of a use-after-free diagnosis, such as `Use-after-free: a freed Basket was used`.
  private static func use(_ facts: CrashFacts, _ rule: String) -> String {
    "Use-after-free: \(aFreed(facts, rule)) was \(facts.isMemoryFault && facts.isWrite ? "written to" : "used")"
  }

  /// Returns the phrase for the used object in the headline, such as `a freed Basket`.
  ///
  /// If only the code of a function refers to the class, the phrase is `a freed object (the code expects a Basket)`.
  private static func aFreed(_ facts: CrashFacts, _ rule: String) -> String {
    if let name = facts.danglingClass { return "a freed \(CleanText.line(name))" }
    guard let name = facts.expectedClass(by: rule) else { return "a freed object" }
    return "a freed object (the code expects a \(CleanText.line(name)))"
  }

  private static func fieldText(_ facts: CrashFacts) -> String? {
    facts.danglingField.map { "An object was used after it was freed: \($0.tie)\(facts.freedClassText);" }
  }

  private static func reused(_ evidence: DanglingEvidence, _ expected: ExpectedClass, _ reason: String) -> String {
    let size = expected.isDerived ? "one of a class derived from it" : "one"
    return "An object was used after it was freed, and its memory was reused: \(evidence.text); \(reason), and the "
      + "block is as large as \(size);"
  }
}
