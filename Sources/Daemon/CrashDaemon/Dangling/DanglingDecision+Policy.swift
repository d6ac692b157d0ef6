import CrashProtocol
import DanglingStatistics

extension DanglingDecision {
  /// A decision of the statistics.
  init(_ event: PolicyEvent) {
    self.init(
      time: Moment(seconds: event.time_s).description, action: event.action.rawValue, from: event.from.rawValue,
      to: event.to.rawValue, text: event.text, classes: event.classes)
  }

  /// A decision of an operator.
  init(byOperator text: String, level: ProtectionLevel, classes: [String], at time_s: Double) {
    self.init(
      time: Moment(seconds: time_s).description, action: "operator", from: level.rawValue, to: level.rawValue,
      text: text, classes: classes)
  }
}
