// The machine on which the process ran, and the resources that it used. crashd reads these facts from the kernel.
extension CrashReport {
  /// The machine on which crashd runs.
  public struct Machine: Codable, Sendable, Equatable {
    /// The host name of the machine.
    public var host: String?
    /// An id of the machine, in 32 hexadecimal digits.
    ///
    /// The id is derived from the machine id, but differs from it. machine-id(5) requires that the machine id stays
    /// confidential.
    public var id: String?
    /// The kernel and its version, such as `Linux 6.1.0-28-amd64`.
    public var kernel: String?
    /// The distribution, such as `Debian GNU/Linux 12 (bookworm)`.
    ///
    /// If crashd runs in a container, this is the distribution of the container image.
    public var distribution: String?
    /// The model name of the processors.
    public var processor: String?
    /// The number of online processors.
    public var processors: Int?
    /// The size of the memory in bytes.
    public var memoryBytes: Int?

    /// Creates a machine in which no fact is known.
    public init() {}
  }

  /// The resources that the process used at the time `time`.
  ///
  /// crashd read the resources during the crash, or at its last reading before the process ended.
  public struct Resources: Codable, Sendable, Equatable {
    /// The time of the reading, as RFC 3339 in UTC.
    public var time: String
    /// The size of the resident memory (VmRSS).
    public var residentBytes: Int?
    /// The peak size of the resident memory (VmHWM).
    public var peakResidentBytes: Int?
    /// The size of the memory in swap (VmSwap).
    public var swapBytes: Int?
    /// The memory limit of the process, in bytes.
    ///
    /// The value is nil if there is no limit or if it is unknown.
    public var memoryLimitBytes: Int?
    /// The kind of the memory limit: `cgroup` (a control group) or `address space` (RLIMIT_AS).
    public var memoryLimitSource: String?
    /// The memory that all processes in the limited control group use together.
    public var groupBytes: Int?
    /// The number of open descriptors.
    public var openDescriptors: Int?
    /// The maximum number of open descriptors (RLIMIT_NOFILE).
    public var descriptorLimit: Int?

    /// Creates an empty reading.
    public init(time: String) { self.time = time }
  }
}
