extension CrashReport {
  /// The result of one diagnosis rule.
  public struct RuleOutcome: Codable, Sendable, Equatable {
    /// The name of the rule.
    public var rule: String
    /// The cause that it detects.
    public var cause: Cause
    /// Its confidence where it applies, from 0 to 1.
    public var confidence: Double
    /// Whether it applies.
    public var applies: Bool
    /// Whether the report uses it: the first one that applies.
    public var isChosen: Bool
    /// Its evidence in this crash.
    public var saw: [String]
    /// Its sentence, where it applies.
    public var sentence: String?

    /// Makes an outcome from its parts.
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
