/// The health of crashd.
public struct DaemonStatus: Codable, Sendable, Equatable {
  /// The version of crashd.
  public var version: String
  /// The pid of crashd.
  public var pid: Int
  /// The number of seconds since crashd started.
  public var uptimeSeconds: Int
  /// The number of attached processes.
  public var processes: Int
  /// The number of ended processes whose rings crashd has not completely read yet.
  public var ending: Int
  /// The number of stored reports.
  public var reports: Int
  /// The size of the store on disk, in bytes.
  public var storeBytes: Int
  /// The number of losses since crashd started, by kind of loss.
  public var losses: [String: Int]
  /// The number of refused requests since crashd started, by kind of refusal.
  public var refusals: [String: Int]
  /// The number of threads with an unwind cross-check, by outcome.
  ///
  /// The value is nil in replies of a crashd version without this property.
  public var unwindings: [String: Int]?
  /// The number of builds whose debug information was requested from servers, by outcome.
  ///
  /// The value is nil in replies of a crashd version without this property.
  public var debugInformation: [String: Int]?
  /// The number of reports that wait in memory because the store does not accept them.
  ///
  /// The value is nil in replies of a crashd version without this property.
  public var held: Int?
  /// The number of files that wait in the spool.
  ///
  /// The value is nil if the caller lacks full access, and in replies of a crashd version without this property.
  public var spooled: Int?
  /// The failures of the store, as sentences.
  ///
  /// The value is nil in replies of a crashd version without this property.
  public var trouble: [String]?
  /// Which crashes the caller can access.
  ///
  /// The value is nil in replies of a crashd version without this property.
  public var access: Access?

  /// Describes which crashes the caller can read and change.
  public struct Access: Codable, Sendable, Equatable {
    /// The uid of the caller, as crashd received it from the kernel.
    public var uid: Int
    /// Whether the caller can access the crashes of all users.
    ///
    /// If the value is false, the caller can access only crashes of its own processes.
    public var all: Bool
    /// The group whose members have full access, as root and crashd's own user have.
    ///
    /// The value is a name, or a number if the operator configured a number. Nil means that no group has full access.
    public var group: String?
    /// Whether the caller lacks full access only because it is in other namespaces than crashd (setting `access.root`).
    ///
    /// The value is nil if this is not the case, and in replies of a crashd version without this property.
    public var isForeign: Bool?

    /// Creates a value from its parts.
    package init(uid: Int, all: Bool, group: String? = nil, isForeign: Bool? = nil) {
      (self.uid, self.all, self.group, self.isForeign) = (uid, all, group, isForeign)
    }
  }

  enum CodingKeys: String, CodingKey {
    case version, pid, processes, ending, reports, storeBytes, losses, refusals, unwindings, debugInformation,
      held, spooled, trouble, access
    case uptimeSeconds = "uptime_s"
  }

  /// Creates a value from its parts.
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
