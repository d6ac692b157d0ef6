/// An event of a service, which is an input of its policy loop.
public enum PolicyInput: Sendable, Hashable, Codable {
  /// The current load of each build, as running processes or requests per second.
  ///
  /// Builds that are not listed do not run.
  ///
  /// Pass this input when the load changes, and at least daily, because it also advances the clock of the loop.
  case load([String: Double])
  /// A crash that was diagnosed as use-after-free.
  case crash(DanglingCrash)
  /// A use-after-free access that the quarantine caught.
  case hit(className: String, group: String)
  /// New rules.
  case rules(ProtectionRules)
}

/// A use-after-free crash that was diagnosed with enough confidence to count.
public struct DanglingCrash: Sendable, Hashable, Codable {
  /// The build that crashed.
  public var build: String
  /// An id of one run of a process, such as its boot id, pid and start time.
  public var incarnation: String
  /// An id of what is restarted after the crash, such as the machine with the unit or container.
  public var instance: String
  /// The class of the object; nil if it is unknown.
  public var className: String?

  /// Makes a crash.
  public init(build: String, incarnation: String, instance: String, className: String? = nil) {
    self.build = build
    self.incarnation = incarnation
    self.instance = instance
    self.className = className
  }
}

extension ShiryaevRoberts {
  /// The rise that explains the counts best.
  ///
  /// It is the mean of the rises, weighted by their sums; 1 before the first event.
  public var estimatedRise: Double {
    let total = sums.reduce(0, +)
    guard total > 0 else { return 1 }
    return zip(sums, Self.rises).reduce(0) { $0 + $1.0 / total * $1.1 }
  }
}
