/// One dying process: what crashd stores, streams and shows.
///
/// The JSON keys are the property names. They are never renamed or removed; later versions add some, and readers must
/// ignore keys that they do not know. The first version's keys are always there, with null for what is not known.
public struct CrashReport: Codable, Sendable, Equatable {
  /// The version of this shape.
  public static let currentSchema = 1

  /// The version of the shape that this report has.
  public var schema: Int
  /// Identifies the crash: 32 lower-case hexadecimal digits, the same however often the record is read.
  public var id: String
  /// When the handler was entered, RFC 3339 in UTC with microseconds.
  public var time: String
  /// Who crashed.
  public var process: ProcessIdentity
  /// What the first crashed thread got.
  public var signal: Signal
  /// The runtime's error message, such as `Fatal error: Index out of range`; empty when there is none.
  public var reason: String
  /// What crashd makes of it.
  public var diagnosis: Diagnosis
  /// The first crashed thread first, then the other crashed ones in the order of their crash, then the rest.
  public var threads: [CrashedThread]
  /// Loaded images by address.
  public var images: [Image]
  /// What the program said of itself by `Shield.annotate`.
  public var annotations: [String: String]
  /// The last lines left by `Shield.breadcrumb`, oldest first.
  public var breadcrumbs: [Breadcrumb]
  /// Which crashes belong together.
  public var group: Group
  /// The groups of other threads that crashed at once, where they are not `group`; nil: there are none.
  public var otherGroups: [Group]?
  /// What could not be kept, by kind; empty when nothing was lost.
  public var losses: [String: Int]
  /// How long it took; nil in reports that were made from a spooled ring.
  public var timing: Timing?
  /// `silent` for a death that no handler saw; nil for a crash.
  public var kind: Kind?
  /// What was seen of a silent death from outside; nil for a crash.
  public var death: Death?
  /// Crash signals that other code took from the shield after its start; nil when it has not noticed any.
  public var replacedHandlers: [ReplacedHandler]?
  /// The object of a guard slot whose use ended the process; nil for any other crash.
  public var guardedObject: GuardedObject?
  /// What a second unwinding of the crashed threads, outside of the process, found; nil when there was none.
  public var unwinding: [Unwinding]?
  /// Who said that nothing of the program's memory is kept; nil where some is, and in older reports.
  ///
  /// Its stacks were not unwound a second time, and no verdict goes by words of memory.
  public var memoryOmitted: MemoryOmission?
  /// What the shield saw before, the last one last; nil when it saw nothing.
  public var incidents: [PastIncident]?
  /// How many earlier ones `incidents` leaves out; nil when none.
  public var incidentsOmitted: Int?
  /// What the Swift runtime printed before this crash, line by line; nil when it printed nothing.
  ///
  /// It is never the cause: a leaked continuation of yesterday stands here.
  public var earlierRuntimeWarnings: [String]?
  /// The handler of the program's that raised the signal of this crash again; nil when none did.
  public var raisedAgain: RaisedAgain?
  /// True while crashd reads the symbols of the crash; nil once the report is stored.
  ///
  /// Names, the group and a part of the diagnosis are missing then, and no subscriber has the report.
  public var isPreliminary: Bool?

  /// Makes a report from its parts.
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
  }
}

extension CrashReport {
  /// The groups in which the crash counts: of each thread that crashed at once, each once.
  public var groups: [Group] {
    var keys: Set<String> = []
    return ([group] + (otherGroups ?? [])).filter { keys.insert($0.key).inserted }
  }

  /// The process that crashed.
  public struct ProcessIdentity: Codable, Sendable, Equatable {
    /// As crashd sees it (SO_PEERCRED).
    public var pid: Int
    /// The effective user id at attach (SO_PEERCRED).
    public var uid: Int
    /// `Shield.start(name:)`, else the executable's last path component.
    public var name: String
    /// The absolute path of the executable, as the process said; a text that is none begins with `not a path: `.
    public var executable: String
    /// The executable's GNU build id in hexadecimal digits; empty when it has none.
    public var buildID: String
    /// When the process began, RFC 3339 in UTC.
    public var startTime: String
    /// The systemd unit, where the process runs in one.
    public var unit: String?
    /// True where the kernel would not dump the process for its user, because it had more rights than that user.
    ///
    /// Then only root and crashd see the report. Nil for any other process, and in older reports.
    public var isRestricted: Bool?
    /// True where the process itself claims `pid`, as in a file of the spool.
    ///
    /// Another process may have that pid.
    public var isPIDClaimed: Bool?

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
    }
  }

  /// A signal as its `siginfo_t` tells it.
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
    /// Who sent it, where a process sent it (`SI_USER`, `SI_QUEUE`, `SI_TKILL`).
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
    /// Its pid as the crashed process saw it; 0 when it stood outside of that process's pid namespace.
    public var pid: Int
    /// Its real user id.
    public var uid: Int

    /// Makes a sender from its parts.
    public init(pid: Int, uid: Int) {
      self.pid = pid
      self.uid = uid
    }
  }

  /// What crashd makes of a crash, with the rule that said it.
  public struct Diagnosis: Codable, Sendable, Equatable {
    /// A stable name for programs, such as `swift-runtime-failure`, `null-pointer`.
    public var cause: Cause
    /// One sentence for people.
    public var sentence: String
    /// The name of the rule.
    public var rule: String
    /// How sure: 0 (a guess) to 1 (certain).
    public var confidence: Double
    /// The full name of the class that the object was of; nil where there is none, or it is not known.
    public var className: String?
    /// The class that the code expects the freed object to be of, or of one derived from it, without its module.
    ///
    /// It says what the code takes the object for, not what the object was. nil where nothing tells, and where `className`
    /// does.
    public var expectedClass: String?
    /// Which field of what a null pointer was asked for, as a guess; nil where nothing tells.
    ///
    /// `confidence` does not speak of it.
    public var field: AccessedField?

    /// Makes a diagnosis from its parts.
    public init(
      cause: Cause, sentence: String, rule: String, confidence: Double, className: String? = nil,
      expectedClass: String? = nil, field: AccessedField? = nil
    ) {
      self.className = className
      self.expectedClass = expectedClass
      self.cause = cause
      self.sentence = sentence
      self.rule = rule
      self.confidence = confidence
      self.field = field
    }

    /// The class that the object was of, or else the one that the code expects.
    public var objectClass: String? { className ?? expectedClass }

    /// For people: `shop.Session`, or `Session, as the code expects`; empty where no class is known.
    var classText: String { className ?? expectedClass.map { "\($0), as the code expects" } ?? "" }
  }

  /// A line that the program left.
  public struct Breadcrumb: Codable, Sendable, Equatable {
    /// RFC 3339 in UTC with microseconds.
    public var time: String
    /// The text.
    public var text: String

    /// Makes a breadcrumb from its parts.
    public init(time: String, text: String) {
      self.time = time
      self.text = text
    }
  }

  /// A loaded ELF image.
  public struct Image: Codable, Sendable, Equatable {
    /// Where it was loaded from; `[vdso]` for the kernel's.
    public var path: String
    /// GNU build id in hexadecimal digits; empty when it has none.
    public var buildID: String
    /// The load bias: link address = address - base.
    public var base: Address
    /// One past its last mapped byte.
    public var end: Address
    /// Why names or lines are missing in this report that its symbols could tell; nil when none are.
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

  /// Which crashes belong together.
  public struct Group: Codable, Sendable, Equatable {
    /// Hexadecimal digits; equal for crashes of one kind, whatever the build.
    public var key: String
    /// For people.
    public var title: String
    /// Hexadecimal digits; equal only for crashes at the same instruction of the same build.
    ///
    /// nil in older reports.
    public var exact: String?
    /// Hexadecimal digits; equal for crashes of one class in one in-app function, whatever called it.
    ///
    /// nil in older reports.
    public var coarse: String?
    /// The rules that made the keys: keys of two versions may differ for one crash.
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

  /// Points of time of one crash, in nanoseconds of the machine's CLOCK_MONOTONIC.
  public struct Timing: Codable, Sendable, Equatable {
    /// The handler of the first crashed thread was entered.
    public var entry_ns: UInt64
    /// Its record was committed.
    public var commit_ns: UInt64
    /// The report was handed to the store.
    public var stored_ns: UInt64

    /// Makes a timing from its parts.
    public init(entry_ns: UInt64, commit_ns: UInt64, stored_ns: UInt64) {
      self.entry_ns = entry_ns
      self.commit_ns = commit_ns
      self.stored_ns = stored_ns
    }
  }
}
