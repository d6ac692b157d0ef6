extension CrashReport {
  /// The kind of event that a report describes.
  public struct Kind: RawRepresentable, Codable, Sendable, Hashable {
    /// The value as a string, as in JSON.
    public var rawValue: String

    /// Creates a value from its string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An unreported exit, that is, an exit without a crash record.
    ///
    /// The report of an unreported exit has no threads, registers or frames.
    public static let silent = Kind(rawValue: "silent")
  }

  /// Facts about an unreported exit that were observed from outside the process.
  public struct Death: Codable, Sendable, Equatable {
    /// The signal that ended the process, as the kernel reports it.
    ///
    /// The value is nil if this kernel does not report how a process ended.
    public var signal: Int?
    /// Whether the kernel wrote a core dump, or passed the core dump to a helper program.
    public var dumpedCore: Bool
    /// The control group whose OOM kills are counted; nil if there is none.
    public var cgroup: String?
    /// The number of OOM kills in this control group after the process was last seen running; nil if unknown.
    public var oomKills: Int?

    /// Whether one of the OOM kills in `oomKills` is attributed to this process; nil if there were none, or if SIGKILL
    /// did not end the process.
    public var oomVictim: Bool?
    /// The number of processes in the control group, including this one, each of which can be a victim of the OOM kills
    /// in `oomKills`.
    ///
    /// The value is nil if `oomVictim` is nil.
    public var oomCandidates: Int?
    /// The value is true if the process had crashed before, and otherwise nil.
    ///
    /// The process either survived that crash, or was killed while it handled the crash.
    public var afterCrash: Bool?
    /// If this process was the main process of a unit: systemd's result for the unit, such as `oom-kill` or `timeout`.
    ///
    /// The value is nil if the result is unknown.
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
