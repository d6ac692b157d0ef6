public import CrashReport

/// What the rules of the diagnosis say of a report.
public struct Explanation: Codable, Sendable, Equatable {
  /// The report's id.
  public var id: String
  /// What the report says.
  public var sentence: String
  /// In the order in which they are asked.
  public var rules: [CrashReport.RuleOutcome]

  /// Makes one from its parts.
  package init(id: String, sentence: String, rules: [CrashReport.RuleOutcome]) {
    (self.id, self.sentence, self.rules) = (id, sentence, rules)
  }
}
