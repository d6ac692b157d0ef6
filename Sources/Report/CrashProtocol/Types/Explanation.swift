public import CrashReport

/// The results of all diagnosis rules for one report.
public struct Explanation: Codable, Sendable, Equatable {
  /// The id of the report.
  public var id: String
  /// The diagnosis of the report, as a sentence.
  public var sentence: String
  /// The results of the rules, in the order of evaluation.
  public var rules: [CrashReport.RuleOutcome]

  /// Creates a value from its parts.
  package init(id: String, sentence: String, rules: [CrashReport.RuleOutcome]) {
    (self.id, self.sentence, self.rules) = (id, sentence, rules)
  }
}
