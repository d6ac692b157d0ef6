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

    /// Whether one of the OOM kills in `oomKills` could have hit this process; nil if none of them can have hit it.
    public var oomVictim: Bool?
    /// The number of processes in the control group that the OOM kills in `oomKills` could have hit, including this
    /// process.
    ///
    /// The value is nil if the kills cannot have hit any process.
    public var oomCandidates: Int?
    /// Whether the process had crashed before.
    ///
    /// The process had either survived that crash, or was killed while it handled the crash. The value is nil if the
    /// process had not crashed before.
    public var afterCrash: Bool?
    /// systemd's result for the unit whose main process this was, such as `oom-kill` or `timeout`.
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
