extension CrashReport {
  /// The result of evaluating one diagnosis rule for a crash.
  public struct RuleOutcome: Codable, Sendable, Equatable {
    /// The name of the rule.
    public var rule: String
    /// The cause that the rule detects.
    public var cause: Cause
    /// The confidence of a diagnosis by this rule, from 0 to 1.
    public var confidence: Double
    /// Whether the rule applies to this crash.
    public var applies: Bool
    /// Whether the report uses this rule.
    ///
    /// The report uses the first rule that applies.
    public var isChosen: Bool
    /// The facts about this crash that the rule used.
    public var saw: [String]
    /// The sentence of the diagnosis by this rule; nil if the rule does not apply.
    public var sentence: String?

    /// Creates an outcome from its parts.
    public init(
      rule: String, cause: Cause, confidence: Double, applies: Bool, isChosen: Bool, saw: [String],
      sentence: String? = nil
    ) {
      self.rule = rule
      self.cause = cause
      self.confidence = confidence
      self.applies = applies
      self.isChosen = isChosen
      self.saw = saw
      self.sentence = sentence
    }
  }
}
