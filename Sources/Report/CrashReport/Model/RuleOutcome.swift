extension CrashReport {
  /// One rule of the diagnosis, and what came of it.
  public struct RuleOutcome: Codable, Sendable, Equatable {
    /// Its name.
    public var rule: String
    /// What it would say the cause is.
    public var cause: Cause
    /// How sure it is where it applies, from 0 to 1.
    public var confidence: Double
    /// Whether it applies.
    public var applies: Bool
    /// Whether it is the one that the report goes by: the first that applies.
    public var isChosen: Bool
    /// What it read, as it was in this crash.
    public var saw: [String]
    /// What it says, where it applies.
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
