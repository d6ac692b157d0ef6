/// How crashd is.
public struct DaemonStatus: Codable, Sendable, Equatable {
  /// Its version.
  public var version: String
  /// Its process.
  public var pid: Int
  /// Seconds since it started.
  public var uptimeSeconds: Int
  /// Attached processes.
  public var processes: Int
  /// Those of them that have ended, while crashd does not know everything of it yet.
  public var ending: Int
  /// Stored reports.
  public var reports: Int
  /// The store's size on disk.
  public var storeBytes: Int
  /// What could not be kept since it started, by kind.
  public var losses: [String: Int]
  /// What was refused since it started, by kind.
  public var refusals: [String: Int]
  /// Crashed threads that were unwound a second time, by what came of it; nil from an older crashd.
  public var unwindings: [String: Int]?
  /// Builds for whose debug information servers were asked, by what came of it; nil from an older crashd.
  public var debugInformation: [String: Int]?
  /// Reports that wait in memory because the store takes none; nil from an older crashd.
  public var held: Int?
  /// Files that wait in the spool; nil from an older crashd, or for who does not see everything.
  public var spooled: Int?
  /// Sentences about the store; none when all is well, nil from an older crashd.
  public var trouble: [String]?
  /// The access of the caller; nil from an older crashd.
  public var access: Access?

  /// Whose crashes a caller sees and changes.
  public struct Access: Codable, Sendable, Equatable {
    /// The uid that crashd sees.
    public var uid: Int
    /// Whether those of all users; else those of the caller's own processes.
    public var all: Bool
    /// The group whose members may everything, as root and crashd's own user: its name, or its number where the operator said
    /// that; nil: there is none.
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
