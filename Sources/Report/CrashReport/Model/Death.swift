extension CrashReport {
  /// The kind of the event that a report describes.
  public struct Kind: RawRepresentable, Codable, Sendable, Hashable {
    /// The text in JSON.
    public var rawValue: String

    /// Creates a value from its text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An unreported exit.
    ///
    /// The report has no threads, registers or frames.
    public static let silent = Kind(rawValue: "silent")
  }

  /// The evidence of an unreported exit, which comes from outside the process.
  public struct Death: Codable, Sendable, Equatable {
    /// The signal that ended the process, from the kernel, or nil if this kernel does not report how a process ended.
    public var signal: Int?
    /// Whether the kernel wrote a core dump, or passed it to its helper.
    public var dumpedCore: Bool
    /// The control group that counts OOM kills, or nil if there is none.
    public var cgroup: String?
    /// The number of OOM kills in this control group since the process was last seen running, or nil if unknown.
    public var oomKills: Int?

    /// Whether this process can be the victim of one of these OOM kills, or nil if it cannot be one.
    public var oomVictim: Bool?
    /// The number of processes in the control group, including this one, that these OOM kills can have hit, or nil if
    /// there are none.
    public var oomCandidates: Int?
    /// Whether the process had crashed before and survived, or was killed during its crash, or nil if it had not
    /// crashed.
    public var afterCrash: Bool?
    /// systemd's result of the unit whose main process this was, such as `oom-kill` or `timeout`, or nil if unknown.
    public var unitResult: String?

    /// Creates a value from its parts.
    public init(signal: Int? = nil, dumpedCore: Bool = false, cgroup: String? = nil, oomKills: Int? = nil) {
      self.signal = signal
      self.dumpedCore = dumpedCore
      self.cgroup = cgroup
      self.oomKills = oomKills
    }
  }
}
