/// The report of one crashed process: the form that crashd stores, streams and shows.
///
/// The JSON keys are the property names. They are never renamed or removed; later versions add some, and readers must
/// ignore unknown keys. The first version's keys are always present, with null for unknown values.
public struct CrashReport: Codable, Sendable, Equatable {
  /// The current version of this schema.
  public static let currentSchema = 1

  /// The schema version of this report.
  public var schema: Int
  /// Identifies the crash: 32 lower-case hexadecimal digits, the same however often the record is read.
  public var id: String
  /// When the handler was entered, RFC 3339 in UTC with microseconds.
  public var time: String
  /// The crashed process.
  public var process: ProcessIdentity
  /// The signal of the first crashed thread.
  public var signal: Signal
  /// The runtime's error message, such as `Fatal error: Index out of range`; empty when there is none.
  public var reason: String
  /// crashd's diagnosis.
  public var diagnosis: Diagnosis
  /// The first crashed thread, then the other crashed ones in the order of their crash, then the rest.
  public var threads: [CrashedThread]
  /// Loaded images by address.
  public var images: [Image]
  /// The program's annotations by `Shield.setTag` and `Shield.start`, without those that are `release`, `environment`
  /// and `user`.
  public var annotations: [String: String]
  /// The last breadcrumbs by `Shield.addBreadcrumb`, oldest first.
  public var breadcrumbs: [Breadcrumb]
  /// The group of the crash.
  public var group: Group
  /// The groups of other threads that crashed at the same time, where they differ from `group`; nil: there are none.
  public var otherGroups: [Group]?
  /// Losses, by kind; empty when nothing was lost.
  public var losses: [String: Int]
  /// The timing of capture and storage; nil in reports from a spooled ring.
  public var timing: Timing?
  /// `silent` for an unreported exit; nil for a crash.
  public var kind: Kind?
  /// The outside evidence of an unreported exit; nil for a crash.
  public var death: Death?
  /// Replaced handlers; nil when the shield has found none.
  public var replacedHandlers: [ReplacedHandler]?
  /// The object of a guard page whose use ended the process; nil for any other crash.
  public var guardedObject: GuardedObject?
  /// The unwind cross-checks of the crashed threads, outside of the process; nil when there were none.
  public var unwinding: [Unwinding]?
  /// Who excluded the program's memory from the report; nil where memory is included, and in older reports.
  ///
  /// Its stacks have no unwind cross-check, and no diagnosis uses words of memory.
  public var memoryOmitted: MemoryOmission?
  /// Earlier non-fatal incidents, the last one last; nil when there were none.
  public var incidents: [PastIncident]?
  /// How many earlier ones `incidents` omits; nil when none.
  public var incidentsOmitted: Int?
  /// The lines that the Swift runtime printed before this crash; nil when it printed nothing.
  ///
  /// They are never the cause: an example is a leaked continuation of yesterday.
  public var earlierRuntimeWarnings: [String]?
  /// The program's handler that re-raised the signal of this crash; nil when there was none.
  public var raisedAgain: RaisedAgain?
  /// True while crashd reads the symbols of the crash; nil once the report is stored.
  ///
  /// Until then names, the group and a part of the diagnosis are missing, and no subscriber has the report.
  public var isPreliminary: Bool?
  /// The program's annotation `release`; nil where it has none, and in older reports.
  public var release: String?
  /// Its annotation `environment`.
  public var environment: String?
  /// Its annotation `user`.
  public var user: String?
  /// The machine; nil in older reports.
  public var machine: Machine?
  /// The container of the process; nil where crashd sees none.
  public var container: Container?
  /// What the process used; nil where no crashd saw it alive, as for most spool files.
  public var resources: Resources?

  /// Makes a report from its parts; the well-known ones of `annotations` become fields.
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
  /// The groups that count the crash: of each thread that crashed at the same time, each once.
  public var groups: [Group] {
    var keys: Set<String> = []
    return ([group] + (otherGroups ?? [])).filter { keys.insert($0.key).inserted }
  }

  /// The process that crashed.
  public struct ProcessIdentity: Codable, Sendable, Equatable {
    /// The pid in crashd's namespace (SO_PEERCRED).
    public var pid: Int
    /// The effective user id at attach (SO_PEERCRED).
    public var uid: Int
    /// `Shield.start(name:)`, else the executable's last path component.
    public var name: String
    /// The absolute path of the executable, as the process reports it; other texts begin with `not a path: `.
    public var executable: String
    /// The executable's GNU build id in hexadecimal digits; empty when it has none.
    public var buildID: String
    /// When the process started, RFC 3339 in UTC.
    public var startTime: String
    /// The systemd unit, where the process runs in one.
    public var unit: String?
    /// True where the kernel would not dump the process for its user, because it had more rights than that user.
    ///
    /// Then only root and crashd see the report. Nil for any other process, and in older reports.
    public var isRestricted: Bool?
    /// True where only the process itself claims `pid`, as in a spool file.
    ///
    /// Another process may have that pid.
    public var isPIDClaimed: Bool?
    /// Its arguments, separated by blanks and shortened; secrets in them are scrubbed.
    ///
    /// Nil where crashd could not read them, and where no memory of the process is stored.
    public var commandLine: String?
    /// The path of its control group.
    public var cgroup: String?
    /// The version of its Swift runtime, such as `6.3.1`.
    public var swiftVersion: String?
    /// How long it had run, in milliseconds; nil in older reports.
    public var uptime_ms: Int?

    /// Makes an identity from its parts.
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

    /// Writes every key.
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

  /// A signal by its `siginfo_t`.
  public struct Signal: Codable, Sendable, Equatable {
    /// Such as 4.
    public var number: Int
    /// Such as `SIGILL`.
    public var name: String
    /// `si_code`.
    public var code: Int
    /// Such as `ILL_ILLOPN`, `SEGV_MAPERR`, `SI_USER`; the number when it has no name.
    public var codeName: String
    /// `si_addr`, where the signal has one.
    public var address: Address?
    /// The sender, where a process sent it (`SI_USER`, `SI_QUEUE`, `SI_TKILL`).
    public var sender: Sender?

    /// Makes a signal from its parts.
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

    /// Writes every key.
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
    /// Its pid in the crashed process's namespace; 0 when it was outside of that namespace.
    public var pid: Int
    /// Its real user id.
    public var uid: Int

    /// Makes a sender from its parts.
    public init(pid: Int, uid: Int) {
      self.pid = pid
      self.uid = uid
    }
  }

  /// crashd's diagnosis of a crash, with its rule.
  public struct Diagnosis: Codable, Sendable, Equatable {
    /// A stable name for programs, such as `swift-runtime-failure`, `null-pointer`.
    public var cause: Cause
    /// One sentence for people.
    public var sentence: String
    /// The name of the rule.
    public var rule: String
    /// The confidence: 0 (a guess) to 1 (certain).
    public var confidence: Double
    /// The full name of the object's class; nil where there is none, or it is unknown.
    public var className: String?
    /// The class that the code expects the freed object to have, or to derive from, without its module.
    ///
    /// It is the expectation of the code, not the class of the object. Nil without evidence, and where `className` is
    /// set.
    public var expectedClass: String?
    /// The field that a null pointer was probably dereferenced for; nil without evidence.
    ///
    /// `confidence` does not cover it.
    public var field: AccessedField?
    /// The addresses and registers behind the sentence, which has none: equal crashes have equal sentences.
    ///
    /// Nil where the sentence says everything, and in older reports.
    public var evidence: String?

    /// Makes a diagnosis from its parts.
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

    /// The class of the object, or else the one that the code expects.
    public var objectClass: String? { className ?? expectedClass }

    /// For people: `shop.Session`, or `Session, as the code expects`; empty where no class is known.
    var classText: String { className ?? expectedClass.map { "\($0), as the code expects" } ?? "" }
  }

  /// A loaded ELF image.
  public struct Image: Codable, Sendable, Equatable {
    /// Its path; `[vdso]` for the vDSO.
    public var path: String
    /// GNU build id in hexadecimal digits; empty when it has none.
    public var buildID: String
    /// The load bias: link address = address - base.
    public var base: Address
    /// One past its last mapped byte.
    public var end: Address
    /// Why this report lacks names or lines of the image; nil when none are missing.
    public var symbols: String?

    /// Makes an image from its parts.
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
    /// Hexadecimal digits; equal for crashes of one group, whatever the build.
    public var key: String
    /// The title for people.
    public var title: String
    /// Hexadecimal digits; equal only for crashes at the same instruction of the same build.
    ///
    /// nil in older reports.
    public var exact: String?
    /// Hexadecimal digits; equal for crashes of one kind in one in-app function, whatever called it.
    ///
    /// nil in older reports.
    public var coarse: String?
    /// The version of the rules for keys: keys of two versions may differ for one crash.
    ///
    /// nil in older reports, which have the keys of version 1.
    public var version: Int?

    /// Makes a group from its parts.
    public init(key: String, title: String, exact: String? = nil, coarse: String? = nil, version: Int? = nil) {
      self.key = key
      self.title = title
      self.exact = exact
      self.coarse = coarse
      self.version = version
    }
  }

  /// Times of one crash, in nanoseconds of the machine's CLOCK_MONOTONIC.
  public struct Timing: Codable, Sendable, Equatable {
    /// The handler of the first crashed thread was entered.
    public var entry_ns: UInt64
    /// Its record was committed.
    public var commit_ns: UInt64
    /// The report was passed to the store.
    public var stored_ns: UInt64

    /// Makes a timing from its parts.
    public init(entry_ns: UInt64, commit_ns: UInt64, stored_ns: UInt64) {
      self.entry_ns = entry_ns
      self.commit_ns = commit_ns
      self.stored_ns = stored_ns
    }
  }
}
