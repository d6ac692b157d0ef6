/// A non-fatal incident that the in-process library recorded, such as a use-after-free.
///
/// Equal incidents of one process are combined into one incident with a count. Apart from `last` and `count`, the
/// fields describe the first occurrence.
public struct IncidentReport: Codable, Sendable, Equatable {
  /// Identifies the incident on this machine.
  ///
  /// The id consists of the first half of the id that a crash report of the process gets, "-", and the key of the
  /// incident in the process.
  public var id: String
  /// The time of the first occurrence, as RFC 3339 in UTC.
  public var first: String
  /// The time of the last occurrence, as RFC 3339 in UTC.
  public var last: String
  /// The number of occurrences.
  public var count: Int
  /// The process in which the incident occurred.
  public var process: Process
  /// The part of the in-process library that recorded the incident.
  public var source: Source
  /// The kind of the incident.
  public var kind: Kind
  /// The reaction of the in-process library.
  public var mode: Mode
  /// The class of the object, the message of the guard, or the runtime error message of the trap, depending on the
  /// source.
  public var subject: String
  /// The incident as one readable sentence.
  public var sentence: String
  /// Whether the incident proves a bug in the program.
  ///
  /// The value is `probable` if the deinit of the object was deferred: a deinit in time might have prevented the
  /// access.
  public var confidence: Confidence
  /// The method that was called on the object.
  public var method: String?
  /// The thread that accessed the object.
  public var useThread: Int?
  /// The stack of the access, innermost first.
  public var use: [CrashReport.Frame]
  /// The record of the object; nil if the object had just left the quarantine.
  public var object: Object?
  /// The call site of the guard, such as `Module/File.swift:12`.
  ///
  /// The value is nil for an incident without a call site.
  public var site: String?
  /// The registers at the contained trap, by name: `rax`, … `rip`, `rflags`, or `x0`, … `pc`, `pstate`.
  ///
  /// Nil for other incidents.
  public var registers: [String: Address]?
  /// The contained request that the trap ended, with its age at the trap.
  ///
  /// The value is nil for other incidents, and if the ring no longer contained the request.
  public var request: CrashReport.Request?

  /// The process in which an incident occurred.
  public struct Process: Codable, Sendable, Equatable {
    /// The pid of the process.
    public var pid: Int
    /// The uid of the process.
    public var uid: Int
    /// The name of the process.
    public var name: String
    /// The path of the executable.
    public var executable: String
    /// The build id of the executable.
    public var buildID: String
    /// Whether the process had more privileges than its user, as in `CrashReport.ProcessIdentity`.
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

  /// The record of an object, made by the quarantine or a guard page.
  public struct Object: Codable, Sendable, Equatable {
    /// The address of the object.
    public var address: Address
    /// The number that identifies the record in the process.
    ///
    /// The policy `diagnose` writes this number into the fields of the freed object.
    public var record: Int
    /// The time from the last release to the first access, in nanoseconds.
    public var age_ns: Int
    /// The thread that made the last release.
    public var thread: Int
    /// The stack of the last release, innermost first; empty if unknown.
    public var release: [CrashReport.Frame]
    /// The size of the object in bytes.
    ///
    /// The value is nil for objects of the quarantine, because only guard pages record this value.
    public var bytes: Int?
    /// The thread that allocated the object.
    ///
    /// The value is nil for objects of the quarantine, because only guard pages record this value.
    public var allocationThread: Int?
    /// The stack of the allocation, innermost first.
    ///
    /// The value is nil for objects of the quarantine, because only guard pages record this value.
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
