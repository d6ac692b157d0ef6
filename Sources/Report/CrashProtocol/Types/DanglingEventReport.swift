/// A decision about protection, with its reason: the stored form, and the one for clients.
public struct DanglingDecision: Codable, Sendable, Equatable {
  /// RFC 3339 in UTC.
  public var time: String
  /// The kind of the decision.
  public var action: Action
  /// The level before.
  public var from: DanglingPolicyReport.Level
  /// The level after.
  public var to: DanglingPolicyReport.Level
  /// The text of the decision, with the reason.
  public var text: String
  /// Classes that became protected by it.
  public var classes: [String]

  /// Makes one from its parts.
  package init(
    time: String, action: Action, from: DanglingPolicyReport.Level, to: DanglingPolicyReport.Level, text: String,
    classes: [String]
  ) {
    (self.time, self.action, self.from, self.to, self.text) = (time, action, from, to, text)
    self.classes = classes
  }
}

/// A decision about the protection of a program's processes.
public struct DanglingEventReport: Codable, Sendable, Equatable {
  /// Its number in the store.
  public var sequence: Int
  /// The user of the processes.
  public var uid: Int
  /// The program's name.
  public var name: String
  /// Its path.
  public var program: String
  /// The decision.
  public var decision: DanglingDecision

  /// Makes one from its parts.
  package init(sequence: Int, uid: Int, name: String, program: String, decision: DanglingDecision) {
    (self.sequence, self.uid, self.name, self.program, self.decision) = (sequence, uid, name, program, decision)
  }
}
