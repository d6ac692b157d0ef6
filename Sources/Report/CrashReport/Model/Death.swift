extension CrashReport {
  /// What a report is about.
  public struct Kind: RawRepresentable, Codable, Sendable, Hashable {
    /// The word in JSON.
    public var rawValue: String

    /// Makes a kind from its word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A death that no handler saw: there are no threads, registers or frames.
    public static let silent = Kind(rawValue: "silent")
  }

  /// What was seen of a death from outside.
  public struct Death: Codable, Sendable, Equatable {
    /// The signal that the kernel says it died of; nil when this kernel does not tell how a process ended.
    public var signal: Int?
    /// Whether the kernel wrote a core dump, or handed one to its helper.
    public var dumpedCore: Bool
    /// The control group that counts deaths for memory; nil where none does.
    public var cgroup: String?
    /// How many processes the kernel killed there for memory, since this one was seen well; nil: unknown.
    public var oomKills: Int?

    /// Whether one of these is left for this process; nil when it cannot be.
    public var oomVictim: Bool?
    /// How many processes of the group, this one too, were killed and can have been those; nil when there are none.
    public var oomCandidates: Int?
    /// Whether the process had crashed before, and lived on, or was killed while it was dying of that; nil: it had not.
    public var afterCrash: Bool?
    /// What systemd says of the process's unit, of which it was the main process, such as `oom-kill` or `timeout`; nil
    /// where it is unknown.
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
