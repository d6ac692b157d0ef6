/// The report of one crashed process, in the form that crashd stores, streams and shows.
///
/// The JSON keys are the property names. They are never renamed or removed. Later versions add keys, and readers must
/// ignore unknown keys. The keys of the first version are always present, with null for unknown values.
public struct CrashReport: Codable, Sendable, Equatable {
  /// The current version of this schema.
  public static let currentSchema = 1

  /// The schema version of this report.
  public var schema: Int
  /// The id of the crash: 32 lower-case hexadecimal digits.
  ///
  /// Reading the same record again gives the same id.
  public var id: String
  /// The time at which the handler was entered, RFC 3339 in UTC with microseconds.
  public var time: String
  /// The crashed process.
  public var process: ProcessIdentity
  /// The signal of the thread that crashed first.
  public var signal: Signal
  /// The runtime error message, such as `Fatal error: Index out of range`, or empty if there is none.
  public var reason: String
  /// crashd's diagnosis.
  public var diagnosis: Diagnosis
  /// The thread that crashed first, then the other crashed threads in the order of their crashes, then all other
  /// threads.
  public var threads: [CrashedThread]
  /// The loaded images, sorted by address.
  public var images: [Image]
  /// The annotations from `Shield.setTag` and `Shield.start`, except `release`, `environment` and `user`.
  public var annotations: [String: String]
  /// The last breadcrumbs from `Shield.addBreadcrumb`, oldest first.
  public var breadcrumbs: [Breadcrumb]
  /// The group of the crash.
  public var group: Group
  /// The groups of other threads that crashed at the same time, if they differ from `group`, or nil if there are none.
  public var otherGroups: [Group]?
  /// The losses by kind, or empty if nothing was lost.
  public var losses: [String: Int]
  /// The timing of capture and storage, or nil in reports from a spooled ring.
  public var timing: Timing?
  /// The value `silent` for an unreported exit, or nil for a crash.
  public var kind: Kind?
  /// The evidence of an unreported exit from outside the process, or nil for a crash.
  public var death: Death?
  /// The replaced handlers, or nil if the shield found none.
  public var replacedHandlers: [ReplacedHandler]?
  /// The object whose access ended the process, from a guard page or the quarantine, or nil for any other crash.
  public var guardedObject: GuardedObject?
  /// The unwind cross-checks of the crashed threads, made outside the process, or nil if there were none.
  public var unwinding: [Unwinding]?
  /// Who excluded the program's memory from the report.
  ///
  /// Nil if memory is included, and in older reports.
  ///
  /// Without memory the stacks have no unwind cross-check, and the diagnosis uses no words of memory.
  public var memoryOmitted: MemoryOmission?
  /// The earlier non-fatal incidents, ending with the last one, or nil if there were none.
  public var incidents: [PastIncident]?
  /// The number of earlier incidents that `incidents` omits, or nil if none is omitted.
  public var incidentsOmitted: Int?
  /// The lines that the Swift runtime printed before this crash.
  ///
  /// Nil if it printed nothing.
  ///
  /// These lines are never the cause of the crash. An example is a continuation that leaked a day earlier.
  public var earlierRuntimeWarnings: [String]?
  /// The program's handler that re-raised the signal of this crash, or nil if there was none.
  public var raisedAgain: RaisedAgain?
  /// True while crashd reads the symbols of the crash.
  ///
  /// Nil once the report is stored.
  ///
  /// Until then names, the group and a part of the diagnosis are missing, and subscribers have not received the report.
  public var isPreliminary: Bool?
  /// The program's annotation `release`, or nil if it is not set, and in older reports.
  public var release: String?
  /// The program's annotation `environment`.
  public var environment: String?
  /// The program's annotation `user`.
  public var user: String?
  /// The machine, or nil in older reports.
  public var machine: Machine?
  /// The container of the process, or nil if crashd detected none.
  public var container: Container?
  /// The resources of the process, or nil if no crashd could read them in time, which is so for most spool files.
  public var resources: Resources?

  /// Creates a report from its parts.
  ///
  /// The well-known ones of `annotations` become fields.
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
  /// The groups that count the crash, without duplicates: one for each thread that crashed at the same time.
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
    /// The name from `Shield.start(name:)`, or the last path component of the executable.
    public var name: String
    /// The absolute path of the executable, as the process reported it.
    ///
    /// Any other text begins with `not a path: `.
    public var executable: String
    /// The executable's GNU build id in hexadecimal digits, or empty if it has none.
    public var buildID: String
    /// The time at which the process started, RFC 3339 in UTC.
    public var startTime: String
    /// The systemd unit of the process, if there is one.
    public var unit: String?
    /// True if the kernel would not dump the process for its user, because the process had more privileges than its
    /// user.
    ///
    /// Only root and crashd's user can then read the report. Nil for any other process, and in older reports.
    public var isRestricted: Bool?
    /// True if `pid` is only the process's own claim, as in a spool file.
    ///
    /// Another process may have that pid.
    public var isPIDClaimed: Bool?
    /// The arguments of the process, separated by blanks and shortened.
    ///
    /// Secrets in them are scrubbed.
    ///
    /// Nil if crashd could not read the arguments, and if no memory of the process is stored.
    public var commandLine: String?
    /// The path of the control group of the process.
    public var cgroup: String?
    /// The version of the process's Swift runtime, such as `6.3.1`.
    public var swiftVersion: String?
    /// The running time of the process in milliseconds, or nil in older reports.
    public var uptime_ms: Int?

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

    /// Encodes every key.
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
      try container.encodeIfPresent(uptime_ms, forKey: .uptime_ms)
    }
  }

  /// A signal, as in `siginfo_t`.
  public struct Signal: Codable, Sendable, Equatable {
    /// The number, such as 4.
    public var number: Int
    /// The name, such as `SIGILL`.
    public var name: String
    /// The value of `si_code`.
    public var code: Int
    /// The name of the code, such as `ILL_ILLOPN`, `SEGV_MAPERR` or `SI_USER`.
    ///
    /// If it has no name, its number.
    public var codeName: String
    /// The value of `si_addr`, if the signal has one.
    public var address: Address?
    /// The sender, if a process sent the signal (`SI_USER`, `SI_QUEUE`, `SI_TKILL`).
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

    /// Encodes every key.
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
    /// The sender's pid in the pid namespace of the crashed process.
    ///
    /// 0 if the sender was outside that namespace.
    public var pid: Int
    /// The sender's real user id.
    public var uid: Int

    /// Creates a sender from its parts.
    public init(pid: Int, uid: Int) {
      self.pid = pid
      self.uid = uid
    }
  }

  /// crashd's diagnosis of a crash, and the rule that it comes from.
  public struct Diagnosis: Codable, Sendable, Equatable {
    /// A stable name for programs, such as `swift-runtime-failure` or `null-pointer`.
    public var cause: Cause
    /// The diagnosis as one sentence for people.
    public var sentence: String
    /// The name of the rule.
    public var rule: String
    /// The confidence, from 0 (a guess) to 1 (certain).
    public var confidence: Double
    /// The full name of the object's class, or nil if there is no object, or if its class is unknown.
    public var className: String?
    /// The class that the code expects the freed object to have or to inherit from, without its module.
    ///
    /// This is the expectation of the code, not the class of the object. Nil without evidence, and if `className` is
    /// set.
    public var expectedClass: String?
    /// The field for which a null pointer was probably dereferenced.
    ///
    /// Nil without evidence.
    ///
    /// `confidence` does not cover the field.
    public var field: AccessedField?
    /// The addresses and registers behind the sentence.
    ///
    /// The sentence contains none, so that equal crashes have equal ones.
    ///
    /// Nil if there are no further facts, and in older reports.
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

    /// The class of the object if known, otherwise the class that the code expects.
    public var objectClass: String? { className ?? expectedClass }

    /// The class as text: `shop.Session`, or `Session, as the code expects`, or empty if no class is known.
    var classText: String { className ?? expectedClass.map { "\($0), as the code expects" } ?? "" }
  }

  /// A loaded ELF image.
  public struct Image: Codable, Sendable, Equatable {
    /// The path of the image.
    ///
    /// `[vdso]` for the vDSO.
    public var path: String
    /// The GNU build id in hexadecimal digits, or empty if the image has none.
    public var buildID: String
    /// The load bias: link address = address - base.
    public var base: Address
    /// The address after the last mapped byte.
    public var end: Address
    /// The reason why this report lacks names or lines of the image, or nil if none are missing.
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

  /// The group of a crash.
  public struct Group: Codable, Sendable, Equatable {
    /// Hexadecimal digits that are equal for crashes of one group, in all builds.
    public var key: String
    /// The title for people.
    public var title: String
    /// Hexadecimal digits that are equal only for crashes at the same instruction of the same build, or nil in older
    /// reports.
    public var exact: String?
    /// Hexadecimal digits that are equal for crashes of one kind in one in-app function, for all callers, or nil in
    /// older reports.
    public var coarse: String?
    /// The version of the rules for keys.
    ///
    /// Two versions may give different keys for one crash.
    ///
    /// Nil in older reports, which have the keys of version 1.
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

  /// The times of one crash, in nanoseconds of the machine's CLOCK_MONOTONIC.
  public struct Timing: Codable, Sendable, Equatable {
    /// The time at which the thread that crashed first entered its handler.
    public var entry_ns: UInt64
    /// The time at which this thread's record was committed.
    public var commit_ns: UInt64
    /// The time at which the report was passed to the store.
    public var stored_ns: UInt64

    /// Creates a timing from its parts.
    public init(entry_ns: UInt64, commit_ns: UInt64, stored_ns: UInt64) {
      self.entry_ns = entry_ns
      self.commit_ns = commit_ns
      self.stored_ns = stored_ns
    }
  }
}
