/// A decision about the use-after-free protection of a program, with its reason.
///
/// crashd stores decisions and sends them to clients in this form.
public struct DanglingDecision: Codable, Sendable, Equatable {
  /// The time of the decision, as RFC 3339 in UTC.
  public var time: String
  /// The kind of the decision.
  public var action: Action
  /// The level of the protection before the decision.
  public var from: DanglingPolicyReport.Level
  /// The level of the protection after the decision.
  public var to: DanglingPolicyReport.Level
  /// The decision and its reason, as a sentence.
  public var text: String
  /// The classes that the decision protects.
  public var classes: [String]

  /// Creates a decision from its parts.
  package init(
    time: String, action: Action, from: DanglingPolicyReport.Level, to: DanglingPolicyReport.Level, text: String,
    classes: [String]
  ) {
    (self.time, self.action, self.from, self.to, self.text) = (time, action, from, to, text)
    self.classes = classes
  }
}

/// A decision about the protection of one program.
public struct DanglingEventReport: Codable, Sendable, Equatable {
  /// The number of the decision in the store.
  public var sequence: Int
  /// The user ID of the program's processes.
  public var uid: Int
  /// The name of the program.
  public var name: String
  /// The path of the program's executable.
  public var program: String
  /// The decision about the protection of the program.
  public var decision: DanglingDecision

  /// Creates a value from its parts.
  package init(sequence: Int, uid: Int, name: String, program: String, decision: DanglingDecision) {
    (self.sequence, self.uid, self.name, self.program, self.decision) = (sequence, uid, name, program, decision)
  }
}
