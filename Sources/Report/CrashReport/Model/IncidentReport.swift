/// A non-fatal incident that a part of the shield recorded, such as a use-after-free.
///
/// Equal incidents of one process are combined into one, with a count. All other fields describe the first occurrence.
public struct IncidentReport: Codable, Sendable, Equatable {
  /// Identifies the incident on this machine: half of the process's report id, "-", and the incident's key in the
  /// process.
  public var id: String
  /// The time of the first occurrence, RFC 3339 in UTC.
  public var first: String
  /// The time of the last occurrence.
  public var last: String
  /// The number of occurrences.
  public var count: Int
  /// The process.
  public var process: Process
  /// The part of the shield.
  public var source: Source
  /// The kind of the incident.
  public var kind: Kind
  /// The reaction of the shield.
  public var mode: Mode
  /// The class of the object, the guard's text, or the runtime error message before a trap.
  public var subject: String
  /// The incident as one sentence.
  public var sentence: String
  /// Whether the program certainly has a bug.
  ///
  /// `probable` marks a deferred deinit, because the deinit might have prevented the access.
  public var confidence: Confidence
  /// The method that was called on the object.
  public var method: String?
  /// The thread that accessed the object.
  public var useThread: Int?
  /// The stack of the access, innermost first.
  public var use: [CrashReport.Frame]
  /// The record of the object, or nil if the object had just left the quarantine.
  public var object: Object?
  /// The guard's call site, such as `Module/File.swift:12`, or nil for an incident without a call site.
  public var site: String?
  /// The registers at a trap of contained work, by name: `rax`, … `rip`, `rflags`, or nil for other incidents.
  public var registers: [String: Address]?

  /// The process of an incident.
  public struct Process: Codable, Sendable, Equatable {
    /// The pid.
    public var pid: Int
    /// The uid.
    public var uid: Int
    /// The name.
    public var name: String
    /// The executable's path.
    public var executable: String
    /// The executable's build id.
    public var buildID: String
    /// The same as in `CrashReport.ProcessIdentity`.
    public var isRestricted: Bool?

    /// Creates a process from its parts.
    public init(pid: Int, uid: Int, name: String, executable: String, buildID: String) {
      self.pid = pid
      self.uid = uid
      self.name = name
      self.executable = executable
      self.buildID = buildID
    }
  }

  /// The record of an object from the quarantine or a guard page.
  public struct Object: Codable, Sendable, Equatable {
    /// The address of the object.
    public var address: Address
    /// The number of the record, which the poison in the object's fields contains.
    public var record: Int
    /// The time between the last release and the first access, in nanoseconds.
    public var age_ns: Int
    /// The thread of the last release.
    public var thread: Int
    /// The stack of the last release, innermost first, or empty if unknown.
    public var release: [CrashReport.Frame]
    /// The size of the object, from a guard page.
    public var bytes: Int?
    /// The thread that allocated the object, from a guard page.
    public var allocationThread: Int?
    /// The stack that allocated the object, innermost first, from a guard page.
    public var allocation: [CrashReport.Frame]?

    /// Creates an object from its parts.
    public init(
      address: Address, record: Int, age_ns: Int, thread: Int, release: [CrashReport.Frame], bytes: Int? = nil,
      allocationThread: Int? = nil, allocation: [CrashReport.Frame]? = nil
    ) {
      self.address = address
      self.record = record
      self.age_ns = age_ns
      self.thread = thread
      self.release = release
      self.bytes = bytes
      self.allocationThread = allocationThread
      self.allocation = allocation
    }
  }

  /// Creates a report from its parts.
  public init(
    id: String, first: String, last: String, count: Int, process: Process, source: Source, kind: Kind, mode: Mode,
    subject: String, sentence: String, confidence: Confidence, method: String? = nil, useThread: Int? = nil,
    use: [CrashReport.Frame] = [], object: Object? = nil, site: String? = nil, registers: [String: Address]? = nil
  ) {
    self.id = id
    self.first = first
    self.last = last
    self.count = count
    self.process = process
    self.source = source
    self.kind = kind
    self.mode = mode
    self.subject = subject
    self.sentence = sentence
    self.confidence = confidence
    self.method = method
    self.useThread = useThread
    self.use = use
    self.object = object
    self.site = site
    self.registers = registers
  }
}
