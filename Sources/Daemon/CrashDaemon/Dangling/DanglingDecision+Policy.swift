import CrashProtocol
import CrashReport
import DanglingStatistics

extension DanglingDecision {
  /// Makes the stored record of a decision that the policy made from the statistics.
  init(_ event: PolicyEvent) {
    self.init(
      time: Moment(seconds: event.time_s).description, action: .init(event.action.rawValue),
      from: .init(event.from.rawValue), to: .init(event.to.rawValue), text: event.text, classes: event.classes)
  }

  /// Makes the stored record of a decision that an operator made.
  init(byOperator text: String, level: ProtectionLevel, classes: [String], at time_s: Double) {
    self.init(
      time: Moment(seconds: time_s).description, action: .byOperator, from: .init(level.rawValue),
      to: .init(level.rawValue), text: text, classes: classes)
  }
}
