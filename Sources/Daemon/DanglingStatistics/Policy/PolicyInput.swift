/// An input of the `PolicyLoop` of a service.
public enum PolicyInput: Sendable, Hashable, Codable {
  /// The current load of each build, as a number of running processes or as a number of requests per second.
  ///
  /// A build that is not in the dictionary does not run. The caller must pass this input when the load changes, and at
  /// least once a day, because it also advances the time of the loop.
  case load([String: Double])
  /// A crash whose diagnosis is use-after-free.
  case crash(DanglingCrash)
  /// A hit: a use-after-free access that the quarantine or a guard page detected.
  case hit(className: String, group: String)
  /// The operator has set new rules.
  case rules(ProtectionRules)
}

/// A use-after-free crash whose diagnosis has a sufficient confidence.
public struct DanglingCrash: Sendable, Hashable, Codable {
  /// The build that crashed.
  public var build: String
  /// The ID of one run of the process, such as its boot ID, pid and start time.
  public var incarnation: String
  /// The ID of the entity that is restarted after the crash, such as the machine with the unit or container.
  public var instance: String
  /// The class of the object that was used; nil if it is unknown.
  public var className: String?

  /// Creates a crash from its parts.
  public init(build: String, incarnation: String, instance: String, className: String? = nil) {
    self.build = build
    self.incarnation = incarnation
    self.instance = instance
    self.className = className
  }
}

extension ShiryaevRoberts {
  /// The estimated ratio of the current rate to the expected rate.
  ///
  /// The value is the mean of all factors in `rises`, weighted with their sums. The value is 1 before the first event.
  public var estimatedRise: Double {
    let total = sums.reduce(0, +)
    guard total > 0 else { return 1 }
    return zip(sums, Self.rises).reduce(0) { $0 + $1.0 / total * $1.1 }
  }
}
