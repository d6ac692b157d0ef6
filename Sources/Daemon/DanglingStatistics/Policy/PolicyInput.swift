/// An event of a service, for its policy loop.
public enum PolicyInput: Sendable, Hashable, Codable {
  /// The load of each build now: running processes, or requests a second; builds that are not named do not run.
  ///
  /// Feed it when it changes, and at least daily, because it also advances the loop's clock.
  case load([String: Double])
  /// A crash that was diagnosed as use-after-free.
  case crash(DanglingCrash)
  /// A use-after-free access that the quarantine caught.
  case hit(className: String, group: String)
  /// New rules.
  case rules(ProtectionRules)
}

/// A use-after-free crash, with enough confidence to count.
public struct DanglingCrash: Sendable, Hashable, Codable {
  /// The build that crashed.
  public var build: String
  /// One life of a process, such as boot id, pid and start time.
  public var incarnation: String
  /// What is restarted after the crash: machine and unit or container.
  public var instance: String
  /// The object's class, where it is known.
  public var className: String?

  /// A crash.
  public init(build: String, incarnation: String, instance: String, className: String? = nil) {
    self.build = build
    self.incarnation = incarnation
    self.instance = instance
    self.className = className
  }
}

extension ShiryaevRoberts {
  /// The rise that explains the counts best, as the mean over the rises by their sums; 1 before the first event.
  public var estimatedRise: Double {
    let total = sums.reduce(0, +)
    guard total > 0 else { return 1 }
    return zip(sums, Self.rises).reduce(0) { $0 + $1.0 / total * $1.1 }
  }
}
