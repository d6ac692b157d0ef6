public import CrashReport

/// A class that a process protects or has protected, with its counters since the protection began.
public struct ProtectedClassReport: Codable, Sendable, Equatable {
  /// The pid of the process.
  public var pid: Int
  /// The uid of the process.
  public var uid: Int
  /// The name of the process.
  public var process: String
  /// The full name of the class.
  public var name: String
  /// Whether the class is protected now.
  public var isProtected: Bool
  /// The mode of the quarantine for objects of the class.
  public var mode: IncidentReport.Mode
  /// The maximum number of quarantined objects of the class.
  public var limit: Int
  /// The size of an instance in bytes.
  public var instanceBytes: Int
  /// The number of objects that entered the quarantine.
  public var admitted: Int
  /// The number of objects that left the quarantine.
  public var evicted: Int
  /// The number of use-after-free incidents.
  public var hits: Int
  /// The number of objects that were not quarantined, by reason: `budget`, `busy`, `unowned` or `isolated`.
  public var skipped: [String: Int]

  /// Creates a value from its parts.
  package init(
    pid: Int, uid: Int, process: String, name: String, isProtected: Bool, mode: IncidentReport.Mode, limit: Int,
    instanceBytes: Int,
    admitted: Int, evicted: Int, hits: Int, skipped: [String: Int]
  ) {
    (self.pid, self.uid, self.process, self.name, self.isProtected) = (pid, uid, process, name, isProtected)
    (self.mode, self.limit, self.instanceBytes, self.admitted, self.evicted) = (
      mode, limit, instanceBytes, admitted, evicted
    )
    (self.hits, self.skipped) = (hits, skipped)
  }
}
