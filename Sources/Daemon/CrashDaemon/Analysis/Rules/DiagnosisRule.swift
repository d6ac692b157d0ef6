import CrashReport
import CrashRing

/// A possible cause of a crash, and the test for it.
///
/// The rules are tested in the order of the list. The first rule that returns a sentence applies.
struct DiagnosisRule: Sendable {
  var name: String
  /// The identifier of the cause in JSON output; it never changes.
  var cause: CrashReport.Cause
  /// The confidence in the cause.
  ///
  /// The value 1 means that the processor or a runtime reported the cause. A value below 1 means that the rule inferred
  /// the cause.
  var confidence: Double
  /// The inputs that the rule reads.
  ///
  /// Reports list these inputs as evidence, so that people can check the diagnosis.
  var looksAt: [Evidence]
  /// The sentence, without the location and without a full stop; nil if the rule does not apply.
  var sentence: @Sendable (CrashFacts) -> String?
  /// A shorter sentence, without addresses and registers; set if `sentence` contains addresses and registers.
  ///
  /// Crashes with the same cause have the same headline.
  var headline: (@Sendable (CrashFacts) -> String)?

  init(
    _ name: String, cause: CrashReport.Cause? = nil, _ confidence: Double, on looksAt: [Evidence],
    headline: (@Sendable (CrashFacts) -> String)? = nil, _ sentence: @escaping @Sendable (CrashFacts) -> String?
  ) {
    self.name = name
    self.cause = cause ?? .init(name)
    self.confidence = confidence
    self.looksAt = looksAt
    self.headline = headline
    self.sentence = sentence
  }
}

extension DiagnosisRule {
  /// Diagnoses the cause of a crash in a sentence that ends with the location.
  static func diagnose(_ facts: CrashFacts, at frame: CrashReport.Frame?) -> CrashReport.Diagnosis {
    for rule in all {
      if let sentence = rule.sentence(facts) {
        let headline = rule.headline?(facts)
        return CrashReport.Diagnosis(
          cause: rule.cause, sentence: whole(headline ?? sentence, at: frame) + deferral(facts) + afterword(facts),
          rule: rule.name, confidence: rule.confidence,
          field: rule.looksAt.contains(.field) && facts.isNullAccess ? facts.field : nil,
          evidence: headline.flatMap { $0 == sentence ? nil : evidence(sentence) })
      }
    }
    let name = SignalNames.name(of: Int(facts.record.signal))
    return CrashReport.Diagnosis(
      cause: .init("signal"), sentence: whole("The process got \(name)", at: frame) + deferral(facts), rule: "signal",
      confidence: 1)
  }

  /// Evaluates every rule in order, and returns the result and the evidence of each rule.
  static func explain(_ facts: CrashFacts) -> [CrashReport.RuleOutcome] {
    var isDecided = false
    return all.map { rule in
      let sentence = rule.sentence(facts)
      let isChosen = sentence != nil && !isDecided
      isDecided = isDecided || isChosen
      return CrashReport.RuleOutcome(
        rule: rule.name, cause: rule.cause, confidence: rule.confidence, applies: sentence != nil, isChosen: isChosen,
        saw: rule.looksAt.map { CleanText.line($0.text(facts)) }, sentence: sentence.map(CleanText.line))
    }
  }

  /// Returns a note for a trap in the work of `Shield.isolated` that the shield did not contain.
  private static func afterword(_ facts: CrashFacts) -> String {
    guard facts.record.exceedsIsolationBudget else { return "" }
    return " The trap was in isolated work, and not contained: the budget of contained traps is used up."
  }

  /// The endings of a rule's sentence that lead to the location of the crash, which is appended after them.
  ///
  /// If there is no location, these endings are removed from the sentence.
  private static let leads = ["; it was", ", noticed", "; it was used", ",", ";"]

  private static func whole(_ sentence: String, at frame: CrashReport.Frame?) -> String {
    let place = place(frame)
    guard place.isEmpty, let lead = leads.first(where: sentence.hasSuffix) else { return sentence + place + "." }
    return sentence.dropLast(lead.count) + "."
  }

  /// Returns a note for a crash in a deferred deinit.
  private static func deferral(_ facts: CrashFacts) -> String {
    facts.isDeferredDeinit
      ? " It was in a deinit that the quarantine had deferred (policy absorb), on the shield's thread." : ""
  }

  /// Changes the sentence of a rule so that the sentence can be shown below the rule's headline.
  private static func evidence(_ sentence: String) -> String {
    let end = leads.first(where: sentence.hasSuffix)?.count ?? 0
    var text = sentence.dropLast(end)
    for beginning in ["An object was used after it was freed", "Bad pointer"] where text.hasPrefix(beginning + ": ") {
      text = text.dropFirst(beginning.count + 2)
    }
    return CleanText.line(String(text))
  }

  private static func place(_ frame: CrashReport.Frame?) -> String {
    guard let frame, !frame.function.isEmpty else { return "" }
    let file = frame.file?.split(separator: "/").last.map(String.init)
    let position = [file, frame.line.map(String.init)].compactMap { $0 }.joined(separator: ":")
    return " in \(FunctionName.short(frame.function))" + (position.isEmpty ? "" : " (\(position))")
  }
}

extension DiagnosisRule {
  /// The rules in the order of evaluation; causes that a runtime reported precede inferred causes.
  static let all: [DiagnosisRule] =
    pages + danglingStated + stated + runtimes + cxxRuntime + wordless + dangling + memory + instructions
}
