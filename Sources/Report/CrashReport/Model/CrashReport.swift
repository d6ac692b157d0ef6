/// The report of one crashed process.
///
/// crashd stores, streams and shows reports in this form. The keys in JSON are the names of the properties. A key is
/// never renamed or removed. Later versions add keys, and readers must ignore unknown keys. The keys of the first
/// schema version are always present. A key of the first version has the value null if the value is unknown.
public struct CrashReport: Codable, Sendable, Equatable {
  /// The current version of this schema.
  public static let currentSchema = 1

  /// The schema version of this report.
  public var schema: Int
  /// The id of the report: 32 lower-case hexadecimal digits.
  ///
  /// Analyzing the same record again gives the same id.
  public var id: String
  /// The time when the signal handler was entered, as RFC 3339 in UTC with microseconds.
  public var time: String
  /// The process that crashed.
  public var process: ProcessIdentity
  /// The signal of the first thread in `threads`.
  public var signal: Signal
  /// The runtime error message, such as `Fatal error: Index out of range`.
  ///
  /// The value is empty if there is no message.
  public var reason: String
  /// The diagnosis that crashd made.
  public var diagnosis: Diagnosis
  /// The crashed threads, followed by the threads that did not crash.
  ///
  /// The first thread is the thread whose signal ended the process. If no such signal is known, the first thread is the
  /// thread that crashed first. The other crashed threads follow in the order of their crashes.
  public var threads: [CrashedThread]
  /// The images that were loaded, sorted by address.
  public var images: [Image]
  /// The annotations that the program set with `Shield.setTag` and `Shield.start`.
  ///
  /// The annotations include `release`, `environment` and `user`, which are also fields of the report.
  public var annotations: [String: String]
  /// The last breadcrumbs that the program added with `Shield.addBreadcrumb`, oldest first.
  public var breadcrumbs: [Breadcrumb]
  /// The group to which the crash belongs.
  public var group: Group
  /// The groups of other threads that crashed at the same time, if they differ from `group`.
  ///
  /// The value is nil if there are no other groups.
  public var otherGroups: [Group]?
  /// The number of losses by kind; empty if nothing was lost.
  public var losses: [String: Int]
  /// The times at which the crash was recorded and its report was stored.
  ///
  /// The value is nil if the ring came from the spool.
  public var timing: Timing?
  /// The value is `silent` for an unreported exit, and nil for a crash.
  public var kind: Kind?
  /// Facts about an unreported exit that were observed from outside the process; nil for a crash.
  public var death: Death?
  /// The crash signals whose handlers were replaced; nil if there are none.
  public var replacedHandlers: [ReplacedHandler]?
  /// The object whose access caused the crash, as a guard page or the quarantine recorded it.
  ///
  /// The value is nil for any other crash.
  public var guardedObject: GuardedObject?
  /// The results of the unwind cross-checks of crashed threads; nil if there were no cross-checks.
  public var unwinding: [Unwinding]?
  /// Why the report does not contain the program's memory.
  ///
  /// The value is nil if the report contains memory, and in reports of a crashd version without this property.
  ///
  /// Without memory there is no unwind cross-check, and the diagnosis uses no contents of memory.
  public var memoryOmitted: MemoryOmission?
  /// The last non-fatal incidents before the crash, oldest first.
  ///
  /// The value is nil if there were no incidents.
  public var incidents: [PastIncident]?
  /// The number of older incidents that the report omits; nil if the report omits none.
  public var incidentsOmitted: Int?
  /// The lines that the Swift runtime had printed before this crash.
  ///
  /// The value is nil if the runtime had printed nothing.
  ///
  /// These lines are not the cause of the crash. For example, a warning about a leaked continuation can be a day old.
  public var earlierRuntimeWarnings: [String]?
  /// The program's handler that caught the signal of this crash and then raised the same or another signal.
  ///
  /// The value is nil if there was no such handler.
  public var raisedAgain: RaisedAgain?
  /// The value is true while crashd is still reading the symbols of the crash.
  ///
  /// The value is nil once the report is stored.
  ///
  /// Until the report is stored, the names, the group and a part of the diagnosis are missing, and no subscriber has
  /// received the report.
  public var isPreliminary: Bool?
  /// The value of the program's annotation `release`.
  ///
  /// The value is nil if the annotation is not set, and in reports of a crashd version without this property.
  public var release: String?
  /// The value of the program's annotation `environment`.
  public var environment: String?
  /// The value of the program's annotation `user`.
  public var user: String?
  /// Facts about the machine.
  ///
  /// The value is nil in reports of a crashd version without this property.
  public var machine: Machine?
  /// The container in which the process ran; nil if crashd detected no container.
  public var container: Container?
  /// The resources that the process used.
  ///
  /// The value is nil if crashd could not read them in time, which is the case for most reports from the spool.
  public var resources: Resources?
  /// The requests in flight, or nil if the process registered no request; nil also in older reports.
  public var inFlight: InFlight?
  /// How containment reacted to the crash, or nil if the program did not turn containment on; nil also in older
  /// reports.
  public var containment: Containment?
  /// Where the record of the crash comes from, or nil if crashd read it from the ring of the process.
  public var source: Source?

  /// Creates a report from its parts.
  ///
  /// The well-known annotations among `annotations` are also copied into their fields.
  public init(
    id: String, time: String, process: ProcessIdentity, signal: Signal, reason: String, diagnosis: Diagnosis,
    threads: [CrashedThread], images: [Image], annotations: [String: String] = [:],
    breadcrumbs: [Breadcrumb] = [], group: Group, losses: [String: Int] = [:], timing: Timing? = nil,
    death: Death? = nil
  ) {
    schema = Self.currentSchema
    self.id = id
    self.time = time
    self.process = process
    self.signal = signal
    self.reason = reason
    self.diagnosis = diagnosis
    self.threads = threads
    self.images = images
    self.annotations = annotations
    self.breadcrumbs = breadcrumbs
    self.group = group
    self.losses = losses
    self.timing = timing
    kind = death == nil ? nil : .silent
    self.death = death
    liftAnnotations()
  }
}

extension CrashReport {
  /// The groups in which the crash is counted, without duplicates.
  ///
  /// Each thread that crashed at the same time has a group.
  public var groups: [Group] {
    var keys: Set<String> = []
    return ([group] + (otherGroups ?? [])).filter { keys.insert($0.key).inserted }
  }

  /// The process that crashed.
  public struct ProcessIdentity: Codable, Sendable, Equatable {
    /// The pid in crashd's namespace (SO_PEERCRED).
    public var pid: Int
    /// The effective user id when the process attached (SO_PEERCRED).
    public var uid: Int
    /// The name that the program passed to `Shield.start(name:)`, or, without such a name, the last path component of
    /// the executable.
    public var name: String
    /// The absolute path of the executable, as the process reported it.
    ///
    /// If the process reported a string that is not an absolute path, the value begins with `not a path: `.
    public var executable: String
    /// The GNU build id of the executable, in hexadecimal digits; empty if the executable has none.
    public var buildID: String
    /// The time when the process started, as RFC 3339 in UTC.
    public var startTime: String
    /// The systemd unit of the process, if there is one.
    public var unit: String?
    /// The value is true if the process had more privileges than its user, so that the kernel would refuse this user a
    /// core dump.
    ///
    /// In this case, only root and crashd's own user can read the report. The value is nil for any other process, and
    /// in reports of a crashd version without this property.
    public var isRestricted: Bool?
    /// The value is true if the pid is known only from the process itself, as in a spool file.
    ///
    /// The kernel did not confirm this pid, so it can be the pid of another process.
    public var isPIDClaimed: Bool?
    /// The arguments of the process, joined with blanks and shortened.
    ///
    /// Secrets in the arguments are scrubbed.
    ///
    /// The value is nil if crashd could not read the arguments, or if the memory of the process must not be stored.
    public var commandLine: String?
    /// The path of the control group of the process.
    public var cgroup: String?
    /// The version of the process's Swift runtime, such as `6.3.1`.
    public var swiftVersion: String?
    /// The architecture of the processor: `x86_64` or `aarch64`.
    ///
    /// The value is nil in reports of a crashd version without this property, which supports only x86-64.
    public var architecture: String?
    /// How long the process had been running, in milliseconds; nil in reports of a crashd version without this
    /// property.
    public var uptime_ms: Int?
    /// The numbers of requests, or nil if the process registered no request; nil also in older reports.
    public var requests: RequestCounts?

    /// Creates an identity from its parts.
    public init(
      pid: Int, uid: Int, name: String, executable: String, buildID: String, startTime: String,
      unit: String? = nil
    ) {
      self.pid = pid
      self.uid = uid
      self.name = name
      self.executable = executable
      self.buildID = buildID
      self.startTime = startTime
      self.unit = unit
    }

    /// Encodes all keys, including keys without a value.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(pid, forKey: .pid)
      try container.encode(uid, forKey: .uid)
      try container.encode(name, forKey: .name)
      try container.encode(executable, forKey: .executable)
      try container.encode(buildID, forKey: .buildID)
      try container.encode(startTime, forKey: .startTime)
      try container.encode(unit, forKey: .unit)
      try container.encodeIfPresent(isRestricted, forKey: .isRestricted)
      try container.encodeIfPresent(isPIDClaimed, forKey: .isPIDClaimed)
      try container.encodeIfPresent(commandLine, forKey: .commandLine)
      try container.encodeIfPresent(cgroup, forKey: .cgroup)
      try container.encodeIfPresent(swiftVersion, forKey: .swiftVersion)
      try container.encodeIfPresent(architecture, forKey: .architecture)
      try container.encodeIfPresent(uptime_ms, forKey: .uptime_ms)
      try container.encodeIfPresent(requests, forKey: .requests)
    }
  }

  /// A signal, with the fields of its `siginfo_t`.
  public struct Signal: Codable, Sendable, Equatable {
    /// The signal number, such as 4.
    public var number: Int
    /// The signal name, such as `SIGILL`.
    public var name: String
    /// The value of `si_code`.
    public var code: Int
    /// The name of the code, such as `ILL_ILLOPN`, `SEGV_MAPERR` or `SI_USER`.
    ///
    /// If the code has no name, the value is the number of the code.
    public var codeName: String
    /// The value of `si_addr`; nil if the signal has no address.
    public var address: Address?
    /// The process that sent the signal (`SI_USER`, `SI_QUEUE`, `SI_TKILL`); nil if no process sent it.
    public var sender: Sender?

    /// Creates a signal from its parts.
    public init(
      number: Int, name: String, code: Int, codeName: String, address: Address? = nil, sender: Sender? = nil
    ) {
      self.number = number
      self.name = name
      self.code = code
      self.codeName = codeName
      self.address = address
      self.sender = sender
    }

    /// Encodes all keys, including keys without a value.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(number, forKey: .number)
      try container.encode(name, forKey: .name)
      try container.encode(code, forKey: .code)
      try container.encode(codeName, forKey: .codeName)
      try container.encode(address, forKey: .address)
      try container.encode(sender, forKey: .sender)
    }
  }

  /// The process that sent a signal.
  public struct Sender: Codable, Sendable, Equatable {
    /// The pid of the sender in the PID namespace of the crashed process.
    ///
    /// The value is 0 if the sender was outside that namespace.
    public var pid: Int
    /// The real user id of the sender.
    public var uid: Int

    /// Creates a sender from its parts.
    public init(pid: Int, uid: Int) {
      self.pid = pid
      self.uid = uid
    }
  }

  /// The diagnosis of a crash, and the rule that made the diagnosis.
  public struct Diagnosis: Codable, Sendable, Equatable {
    /// The cause of the crash as a stable identifier, such as `swift-runtime-failure` or `null-pointer`.
    public var cause: Cause
    /// The diagnosis as one readable sentence.
    public var sentence: String
    /// The name of the rule.
    public var rule: String
    /// The confidence, from 0 (a guess) to 1 (certain).
    public var confidence: Double
    /// The full name of the object's class.
    ///
    /// The value is nil if there is no object or if its class is unknown.
    public var className: String?
    /// The class, without its module, that the code expects the freed object to have or to inherit from.
    ///
    /// The actual class of the object can be different. The value is nil if there is no evidence, or if `className` is
    /// set.
    public var expectedClass: String?
    /// The field that was probably accessed through a null pointer.
    ///
    /// The value is nil if there is no evidence.
    ///
    /// `confidence` does not refer to this field.
    public var field: AccessedField?
    /// The addresses and registers on which the sentence is based.
    ///
    /// The sentence itself contains no addresses, so that equal crashes have equal sentences.
    ///
    /// The value is nil if there are no further facts, and in reports of a crashd version without this property.
    public var evidence: String?

    /// Creates a diagnosis from its parts.
    public init(
      cause: Cause, sentence: String, rule: String, confidence: Double, className: String? = nil,
      expectedClass: String? = nil, field: AccessedField? = nil, evidence: String? = nil
    ) {
      self.evidence = evidence
      self.className = className
      self.expectedClass = expectedClass
      self.cause = cause
      self.sentence = sentence
      self.rule = rule
      self.confidence = confidence
      self.field = field
    }

    /// The class of the object; if it is unknown, the class that the code expects.
    public var objectClass: String? { className ?? expectedClass }

    /// The class as text, such as `shop.Session`, or `Session, as the code expects`.
    ///
    /// The value is empty if no class is known.
    var classText: String { className ?? expectedClass.map { "\($0), as the code expects" } ?? "" }
  }

  /// A loaded ELF image.
  public struct Image: Codable, Sendable, Equatable {
    /// The path of the file.
    ///
    /// The value is `[vdso]` for the vDSO.
    public var path: String
    /// The GNU build id in hexadecimal digits; empty if the image has none.
    public var buildID: String
    /// The load bias: link address = address - base.
    public var base: Address
    /// The address after the last mapped byte.
    public var end: Address
    /// Why the report lacks function names or lines of the image; nil if none are missing.
    public var symbols: String?

    /// Creates an image from its parts.
    public init(path: String, buildID: String, base: Address, end: Address, symbols: String? = nil) {
      self.path = path
      self.buildID = buildID
      self.base = base
      self.end = end
      self.symbols = symbols
    }
  }

  /// The group to which a crash belongs.
  public struct Group: Codable, Sendable, Equatable {
    /// The key of the group, in hexadecimal digits.
    ///
    /// The key is equal for all crashes of the group, in all builds.
    public var key: String
    /// The readable title of the group.
    public var title: String
    /// A key that is equal only for crashes at the same instruction of the same build.
    ///
    /// The value is nil in reports of a crashd version without this property.
    public var exact: String?
    /// A key that is equal for crashes of the same kind in the same in-app function, regardless of the function's
    /// callers.
    ///
    /// The value is nil in reports of a crashd version without this property.
    public var coarse: String?
    /// The version of the rules by which crashd computes the keys.
    ///
    /// The same crash can have different keys in two versions.
    ///
    /// The value is nil in reports of a crashd version without this property; the keys in these reports have version 1.
    public var version: Int?

    /// Creates a group from its parts.
    public init(key: String, title: String, exact: String? = nil, coarse: String? = nil, version: Int? = nil) {
      self.key = key
      self.title = title
      self.exact = exact
      self.coarse = coarse
      self.version = version
    }
  }

  /// The times of one crash, in nanoseconds of CLOCK_MONOTONIC.
  public struct Timing: Codable, Sendable, Equatable {
    /// The time when the first thread in `threads` entered its signal handler.
    public var entry_ns: UInt64
    /// The time when the record of the first thread in `threads` was committed.
    public var commit_ns: UInt64
    /// The time when the report was passed to the store.
    public var stored_ns: UInt64

    /// Creates a timing from its parts.
    public init(entry_ns: UInt64, commit_ns: UInt64, stored_ns: UInt64) {
      self.entry_ns = entry_ns
      self.commit_ns = commit_ns
      self.stored_ns = stored_ns
    }
  }
}
