extension CrashReport {
  /// The subject of a report.
  public struct Kind: RawRepresentable, Codable, Sendable, Hashable {
    /// The word in JSON.
    public var rawValue: String

    /// Makes a kind from its word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An unreported exit: there are no threads, registers or frames.
    public static let silent = Kind(rawValue: "silent")
  }

  /// The outside evidence of an unreported exit.
  public struct Death: Codable, Sendable, Equatable {
    /// The signal that ended it, by the kernel; nil when this kernel does not report how a process ended.
    public var signal: Int?
    /// Whether the kernel wrote a core dump, or passed one to its helper.
    public var dumpedCore: Bool
    /// The control group that counts OOM kills; nil where none does.
    public var cgroup: String?
    /// The number of OOM kills in it since this process was last seen running; nil: unknown.
    public var oomKills: Int?

    /// Whether one of these kills remains for this process; nil when it cannot be.
    public var oomVictim: Bool?
    /// How many processes of the group, with this one, they can have hit; nil when there are none.
    public var oomCandidates: Int?
    /// Whether the process had crashed before, and survived, or was killed while it crashed; nil: it had not.
    public var afterCrash: Bool?
    /// systemd's result of the unit whose main process it was, such as `oom-kill` or `timeout`; nil where it is
    /// unknown.
    public var unitResult: String?

    /// Makes a death from its parts.
    public init(signal: Int? = nil, dumpedCore: Bool = false, cgroup: String? = nil, oomKills: Int? = nil) {
      self.signal = signal
      self.dumpedCore = dumpedCore
      self.cgroup = cgroup
      self.oomKills = oomKills
    }
  }
}
