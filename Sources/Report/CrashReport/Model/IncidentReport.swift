/// Something that a part of the shield saw while the process went on: such as the use of an object after its last release.
///
/// What happened in the same process in the same way is one, with a count; all else is of the first time.
public struct IncidentReport: Codable, Sendable, Equatable {
  /// Names it on this machine: half of the process's report id, "-", and the key of the incident in that process.
  public var id: String
  /// RFC 3339 in UTC, of the first time.
  public var first: String
  /// Of the last time.
  public var last: String
  /// How often.
  public var count: Int
  /// The process.
  public var process: Process
  /// The part of the shield.
  public var source: Source
  /// What it was.
  public var kind: Kind
  /// What was done about it.
  public var mode: Mode
  /// The class of the object, what the guard says, or what the Swift runtime said before a trap.
  public var subject: String
  /// One sentence.
  public var sentence: String
  /// How sure it is that the program has a mistake: `certain`, or `probable` where a deinit had been put off, since what the
  /// deinit would have stopped may be what used the object.
  public var confidence: Confidence
  /// The method that the call was meant for.
  public var method: String?
  /// The thread that used the object.
  public var useThread: Int?
  /// Who used it, innermost first.
  public var use: [CrashReport.Frame]
  /// What is known of the object; nil when it had just left the quarantine.
  public var object: Object?
  /// Where the guard stands, as `Module/File.swift:12`; nil for what stands at no call.
  public var site: String?
  /// What the processor held where isolated work trapped, by name: `rax`, … `rip`, `rflags`; nil for other incidents.
  public var registers: [String: Address]?

  /// Who it was.
  public struct Process: Codable, Sendable, Equatable {
    /// Its pid.
    public var pid: Int
    /// Whose it is.
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

  /// What the quarantine or a guard slot kept of an object.
  public struct Object: Codable, Sendable, Equatable {
    /// Where it stood.
    public var address: Address
    /// The number of its record, which the poison in its fields carries.
    public var record: Int
    /// Between the last release and the first use, in nanoseconds.
    public var age_ns: Int
    /// The thread that released it last.
    public var thread: Int
    /// Who released it last, innermost first; none when that is not known.
    public var release: [CrashReport.Frame]
    /// How large it was, where a guard slot held it.
    public var bytes: Int?
    /// The thread that allocated it, where a guard slot held it.
    public var allocationThread: Int?
    /// Who allocated it, innermost first, where a guard slot held it.
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
