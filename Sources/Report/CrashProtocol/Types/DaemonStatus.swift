/// The health of crashd.
public struct DaemonStatus: Codable, Sendable, Equatable {
  /// Its version.
  public var version: String
  /// Its process.
  public var pid: Int
  /// Seconds since it started.
  public var uptimeSeconds: Int
  /// Attached processes.
  public var processes: Int
  /// Processes that have ended, while crashd has not read everything of them yet.
  public var ending: Int
  /// Stored reports.
  public var reports: Int
  /// The store's size on disk.
  public var storeBytes: Int
  /// Losses since it started, by kind.
  public var losses: [String: Int]
  /// Refusals since it started, by kind.
  public var refusals: [String: Int]
  /// Crashed threads with an unwind cross-check, by outcome; nil from an older crashd.
  public var unwindings: [String: Int]?
  /// Builds whose debug information was requested from servers, by outcome; nil from an older crashd.
  public var debugInformation: [String: Int]?
  /// Reports that wait in memory because the store does not accept them; nil from an older crashd.
  public var held: Int?
  /// Files that wait in the spool; nil from an older crashd, or for a caller that does not see everything.
  public var spooled: Int?
  /// Failures of the store, as sentences; empty when there are none, nil from an older crashd.
  public var trouble: [String]?
  /// The caller's access; nil from an older crashd.
  public var access: Access?

  /// The crashes that a caller sees and changes.
  public struct Access: Codable, Sendable, Equatable {
    /// The caller's uid, as crashd sees it.
    public var uid: Int
    /// Whether it sees those of all users; else those of its own processes.
    public var all: Bool
    /// The group whose members have access to everything, as root and crashd's own user.
    ///
    /// It is a name, or a number where the operator has set one; nil: there is none.
    public var group: String?

    /// Makes one from its parts.
    package init(uid: Int, all: Bool, group: String? = nil) {
      (self.uid, self.all, self.group) = (uid, all, group)
    }
  }

  enum CodingKeys: String, CodingKey {
    case version, pid, processes, ending, reports, storeBytes, losses, refusals, unwindings, debugInformation,
      held, spooled, trouble, access
    case uptimeSeconds = "uptime_s"
  }

  /// Makes one from its parts.
  package init(
    version: String, pid: Int, uptimeSeconds: Int, processes: Int, ending: Int, reports: Int, storeBytes: Int,
    losses: [String: Int], refusals: [String: Int], unwindings: [String: Int]? = nil,
    debugInformation: [String: Int]? = nil, held: Int? = nil, spooled: Int? = nil, trouble: [String]? = nil,
    access: Access? = nil
  ) {
    (self.version, self.pid, self.uptimeSeconds, self.processes, self.ending) = (
      version, pid, uptimeSeconds, processes, ending
    )
    (self.reports, self.storeBytes, self.losses, self.refusals, self.unwindings) = (
      reports, storeBytes, losses, refusals, unwindings
    )
    (self.debugInformation, self.held, self.spooled, self.trouble, self.access) = (
      debugInformation, held, spooled, trouble, access
    )
  }
}
