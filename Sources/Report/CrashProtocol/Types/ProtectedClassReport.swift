public import CrashReport

/// A class that a process protects, or did, with its counters since then.
public struct ProtectedClassReport: Codable, Sendable, Equatable {
  /// The process.
  public var pid: Int
  /// Its user.
  public var uid: Int
  /// Its name.
  public var process: String
  /// The full name of the class.
  public var name: String
  /// Whether it is protected now.
  public var isProtected: Bool
  /// The quarantine's policy for its objects.
  public var mode: IncidentReport.Mode
  /// The capacity of the quarantine for its objects.
  public var limit: Int
  /// The size of an instance.
  public var instanceBytes: Int
  /// Objects that entered the quarantine.
  public var admitted: Int
  /// Objects that left it.
  public var evicted: Int
  /// Use-after-free incidents.
  public var hits: Int
  /// Objects that were not quarantined, by reason.
  public var skipped: [String: Int]

  /// Makes one from its parts.
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
