import DanglingStatistics

/// Something that was decided about a service, with its reason: what is stored, and what clients get.
struct DanglingDecision: Codable, Sendable, Equatable {
  /// RFC 3339 in UTC.
  var time: String
  /// `switched`, `advised`, `released` (by the statistics), or `operator`.
  var action: String
  /// The level before.
  var from: String
  /// The level after.
  var to: String
  /// The whole in words.
  var text: String
  /// Classes that became protected.
  var classes: [String]

  init(_ event: PolicyEvent) {
    time = Self.text(of: event.time_s)
    action = event.action.rawValue
    from = event.from.rawValue
    to = event.to.rawValue
    text = event.text
    classes = event.classes
  }

  /// What an operator said.
  init(byOperator text: String, level: ProtectionLevel, classes: [String], at time_s: Double) {
    time = Self.text(of: time_s)
    action = "operator"
    from = level.rawValue
    to = level.rawValue
    self.text = text
    self.classes = classes
  }

  private static func text(of time_s: Double) -> String {
    Moment(seconds: time_s).description
  }
}
