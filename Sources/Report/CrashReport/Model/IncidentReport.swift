/// A non-fatal incident that a part of the shield recorded, such as a use-after-free.
///
/// Equal incidents in one process are one, with a count; everything else is of the first occurrence.
public struct IncidentReport: Codable, Sendable, Equatable {
  /// Identifies it on this machine: half of the process's report id, "-", and the key of the incident in that process.
  public var id: String
  /// RFC 3339 in UTC, of the first occurrence.
  public var first: String
  /// Of the last occurrence.
  public var last: String
  /// The number of occurrences.
  public var count: Int
  /// The process.
  public var process: Process
  /// The part of the shield.
  public var source: Source
  /// The kind.
  public var kind: Kind
  /// The reaction.
  public var mode: Mode
  /// The class of the object, the guard's text, or the runtime error message before a trap.
  public var subject: String
  /// One sentence.
  public var sentence: String
  /// Whether the program certainly has a bug: `probable` for a deferred deinit, because the deinit could have ended the
  /// use.
  public var confidence: Confidence
  /// The method that the call was meant for.
  public var method: String?
  /// The thread that used the object.
  public var useThread: Int?
  /// The stack of the use, innermost first.
  public var use: [CrashReport.Frame]
  /// The record of the object; nil when it had just left the quarantine.
  public var object: Object?
  /// The guard's call site, as `Module/File.swift:12`; nil for an incident without one.
  public var site: String?
  /// The registers at a trap of contained work, by name: `rax`, … `rip`, `rflags`; nil for other incidents.
  public var registers: [String: Address]?

  /// The process of an incident.
  public struct Process: Codable, Sendable, Equatable {
    /// Its pid.
    public var pid: Int
    /// Its user.
    public var uid: Int
    /// Its name.
    public var name: String
    /// The executable's path.
    public var executable: String
    /// The executable's build id.
    public var buildID: String
    /// As in `CrashReport.ProcessIdentity`.
    public var isRestricted: Bool?

    /// Makes a process from its parts.
    public init(pid: Int, uid: Int, name: String, executable: String, buildID: String) {
      self.pid = pid
      self.uid = uid
      self.name = name
      self.executable = executable
      self.buildID = buildID
    }
  }

  /// The quarantine's or guard page's record of an object.
  public struct Object: Codable, Sendable, Equatable {
    /// Its address.
    public var address: Address
    /// The number of its record, which the poison in its fields contains.
    public var record: Int
    /// The time between the last release and the first use, in nanoseconds.
    public var age_ns: Int
    /// The thread of the last release.
    public var thread: Int
    /// The stack of the last release, innermost first; empty when unknown.
    public var release: [CrashReport.Frame]
    /// Its size, for a guard page.
    public var bytes: Int?
    /// The thread that allocated it, for a guard page.
    public var allocationThread: Int?
    /// The stack that allocated it, innermost first, for a guard page.
    public var allocation: [CrashReport.Frame]?

    /// Makes an object from its parts.
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

  /// Makes a report from its parts.
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
