/// A change of a service's protection with its reason, or an alarm that changes nothing because the rules forbid a
/// change.
public struct PolicyEvent: Sendable, Hashable, Codable {
  /// The reason for the change.
  public enum Reason: Sendable, Hashable, Codable {
    /// The use-after-free crashes of the service became more frequent.
    case rise(value: Double, threshold_days: Double, expected_perDay: Double, recentCrashes: Int)
    /// A new build has more use-after-free crashes than the older builds that run at the same time.
    case worseBuild(build: String, value: Double, newCrashes: Int, oldCrashes: Int)
    /// The last `run` hits (detected use-after-free accesses) were all in groups that had earlier hits; see
    /// `GroupCoverage`.
    case enoughSeen(hits: Int, groups: Int, run: Int)
    /// Use-after-free accesses have become rarer than at the alarm that raised the level.
    case accessesDropped(value: Double, hits: Int)
    /// The maximum time for the raised level has passed.
    case timeOver(days: Double)
    /// The operator changed the rules.
    case operatorsRules(pin: Pin)
    /// A class on the list of protected classes has not appeared in a use-after-free crash or in a detected access for
    /// `days` days.
    case notSeen(className: String, days: Double)
  }

  /// The kind of change that the event describes.
  public enum Action: String, Sendable, Hashable, Codable {
    /// The protection level changed.
    case switched
    /// There was an alarm, but the rules forbid a change. The event only advises the operator.
    case advised
    /// A class was removed from the list of protected classes.
    case released
  }

  /// The time of the event, in seconds since 1970.
  public var time_s: Double
  /// The kind of change that the event describes.
  public var action: Action
  /// The protection level before the event.
  public var from: ProtectionLevel
  /// The protection level after the event.
  public var to: ProtectionLevel
  /// The reason for the change.
  public var reason: Reason
  /// The classes that the event added to the protected classes.
  public var classes: [String]

  /// The description of the event, for a log or a terminal.
  public var text: String {
    let change =
      switch action {
      case .switched: "protection \(from.rawValue) → \(to.rawValue)"
      case .advised: "protection stays \(from.rawValue), because the rules forbid raising it"
      case .released: "a class is released"
      }
    let listed = classes.isEmpty ? "" : "; protects \(classes.joined(separator: ", "))"
    return "\(change): \(reason.text)\(listed)"
  }
}

extension PolicyEvent.Reason {
  /// The description of the reason, for a log or a terminal.
  public var text: String {
    switch self {
    case .rise(let value, let threshold_days, let expected_perDay, let recentCrashes):
      "\(counted(recentCrashes, "use-after-free crash", "use-after-free crashes")) in two weeks or less, "
        + "while \(short(expected_perDay)) a day are usual "
        + "(evidence \(short(value)), at most one false alarm in \(short(threshold_days)) days)"
    case .worseBuild(let build, let value, let newCrashes, let oldCrashes):
      "build \(build) crashed \(times(newCrashes)) while older builds crashed \(times(oldCrashes)) "
        + "(evidence \(short(value)))"
    case .enoughSeen(let hits, let groups, let run):
      "\(counted(hits, "hit", "hits")) in \(counted(groups, "group", "groups")), the last \(run) without a new group"
    case .accessesDropped(let value, let hits):
      "use-after-free accesses became rarer than at the alarm (evidence \(short(value)), \(counted(hits, "hit", "hits")))"
    case .timeOver(let days): "the limit of \(short(days)) days has passed"
    case .operatorsRules(let pin): "the operator's rules (pin \(pin.rawValue))"
    case .notSeen(let className, let days): "\(className) was not reported for \(short(days)) days"
    }
  }

  private func counted(_ count: Int, _ noun: String, _ plural: String) -> String {
    "\(count) \(count == 1 ? noun : plural)"
  }

  private func times(_ count: Int) -> String { count == 1 ? "once" : "\(count) times" }

  /// Formats a number: with two decimals if it is below 1, with one decimal if it is below 100, and otherwise without
  /// decimals.
  private func short(_ value: Double) -> String {
    if abs(value) >= 100 { return "\(Int(clamping: value.rounded()))" }
    let scale: Double = abs(value) < 1 ? 100 : 10
    return "\((value * scale).rounded() / scale)"
  }
}
