public import CrashReport

/// A class that a process protects, or did, and what was counted of it since it first was.
public struct ProtectedClassReport: Codable, Sendable, Equatable {
  /// The process.
  public var pid: Int
  /// Whose it is.
  public var uid: Int
  /// Its name.
  public var process: String
  /// The full name of the class.
  public var name: String
  /// Whether it is protected now.
  public var isProtected: Bool
  /// What becomes of its objects.
  public var mode: IncidentReport.Mode
  /// How many of its objects are kept at most.
  public var limit: Int
  /// How large they are.
  public var instanceBytes: Int
  /// Objects that came into quarantine.
  public var admitted: Int
  /// Objects that left it.
  public var evicted: Int
  /// Uses of dead objects.
  public var hits: Int
  /// Objects that were not kept, by reason.
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
