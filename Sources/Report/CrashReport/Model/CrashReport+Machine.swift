// Where the process ran, and what it used: facts that crashd reads from the kernel.
extension CrashReport {
  /// The machine of crashd.
  public struct Machine: Codable, Sendable, Equatable {
    /// Its host name.
    public var host: String?
    /// 32 hexadecimal digits, derived from its machine id as machine-id(5) demands: the id itself is confidential.
    public var id: String?
    /// Such as `Linux 6.1.0-28-amd64`.
    public var kernel: String?
    /// Such as `Debian GNU/Linux 12 (bookworm)`; in a container that of crashd's image.
    public var distribution: String?
    /// The model of its processors.
    public var processor: String?
    /// How many of them are online.
    public var processors: Int?
    /// Its memory.
    public var memoryBytes: Int?

    /// Makes an unknown machine.
    public init() {}
  }

  /// The container of the process.
  public struct Container: Codable, Sendable, Equatable {
    /// Its id, 64 hexadecimal digits.
    public var id: String
    /// Such as `docker`, `containerd`, `cri-o` or `podman`; nil where the source does not say.
    public var runtime: String?
    /// Where crashd found the id: `cgroup` or `mountinfo`.
    public var source: String

    /// Makes a container from its parts.
    public init(id: String, runtime: String? = nil, source: String) {
      (self.id, self.runtime, self.source) = (id, runtime, source)
    }
  }

  /// What the process used at `time`: in its crash handler, else at the last reading before its end.
  public struct Resources: Codable, Sendable, Equatable {
    /// When crashd read it, RFC 3339 in UTC.
    public var time: String
    /// Its resident memory (VmRSS).
    public var residentBytes: Int?
    /// The most that was ever resident (VmHWM).
    public var peakResidentBytes: Int?
    /// Its memory in swap (VmSwap).
    public var swapBytes: Int?
    /// The limit of its memory; nil: there is none, or it is unknown.
    public var memoryLimitBytes: Int?
    /// What sets that limit: `cgroup`, or `address space` (RLIMIT_AS).
    public var memoryLimitSource: String?
    /// The memory of all processes of the control group with the limit.
    public var groupBytes: Int?
    /// Its open descriptors.
    public var openDescriptors: Int?
    /// The limit of them (RLIMIT_NOFILE).
    public var descriptorLimit: Int?

    /// Makes an empty reading.
    public init(time: String) { self.time = time }
  }
}
