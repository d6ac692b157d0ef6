public import CrashReport

/// The results of all diagnosis rules for a report.
public struct Explanation: Codable, Sendable, Equatable {
  /// The report's id.
  public var id: String
  /// The sentence of the report.
  public var sentence: String
  /// In order of evaluation.
  public var rules: [CrashReport.RuleOutcome]

  /// Makes one from its parts.
  package init(id: String, sentence: String, rules: [CrashReport.RuleOutcome]) {
    (self.id, self.sentence, self.rules) = (id, sentence, rules)
  }
}
