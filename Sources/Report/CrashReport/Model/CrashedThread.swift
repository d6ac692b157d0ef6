extension CrashReport {
  /// A thread of the crashed process.
  public struct CrashedThread: Codable, Sendable, Equatable {
    /// The thread id in the process's own namespace (`gettid`).
    public var tid: Int
    /// `prctl(PR_GET_NAME)`.
    public var name: String
    /// Whether it crashed, or was only sampled.
    public var crashed: Bool
    /// Its own signal, on every crashed thread.
    public var signal: Signal?
    /// Its own message, if any.
    public var reason: String?
    /// Innermost first, inline frames expanded, the async callers after the stack.
    public var frames: [Frame]
    /// The number of omitted frames of a deep recursion, between the head and the tail; nil when there are none.
    public var framesOmitted: Int?
    /// The number of `frames`, with inline ones, before that gap; nil when there is none.
    public var framesBeforeGap: Int?
    /// By name: `rax`, … `rip`, `rflags`.
    public var registers: [String: Address]
    /// Why a sampled thread has no frames; nil where it answered.
    public var silence: Silence?
    /// The Swift task that it ran; nil when it ran none, or the runtime does not show it.
    public var task: Task?

    /// Makes a thread from its parts.
    public init(
      tid: Int, name: String, crashed: Bool, signal: Signal? = nil, reason: String? = nil, frames: [Frame],
      framesOmitted: Int? = nil, framesBeforeGap: Int? = nil, registers: [String: Address] = [:],
      silence: Silence? = nil, task: Task? = nil
    ) {
      self.tid = tid
      self.name = name
      self.crashed = crashed
      self.signal = signal
      self.reason = reason
      self.frames = frames
      self.framesOmitted = framesOmitted
      self.framesBeforeGap = framesBeforeGap
      self.registers = registers
      self.silence = silence
      self.task = task
    }

    /// Encodes optional parts only if they exist.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(tid, forKey: .tid)
      try container.encode(name, forKey: .name)
      try container.encode(crashed, forKey: .crashed)
      try container.encodeIfPresent(signal, forKey: .signal)
      try container.encodeIfPresent(reason, forKey: .reason)
      try container.encode(frames, forKey: .frames)
      try container.encodeIfPresent(framesOmitted, forKey: .framesOmitted)
      try container.encodeIfPresent(framesBeforeGap, forKey: .framesBeforeGap)
      // As text at once: see Frame.
      try container.encode(registers.mapValues(\.description), forKey: .registers)
      try container.encodeIfPresent(silence, forKey: .silence)
      try container.encodeIfPresent(task, forKey: .task)
    }
  }

  /// A Swift task.
  public struct Task: Codable, Sendable, Equatable {
    /// Its number in the process.
    public var id: Int
    /// The `TaskPriority.rawValue` that it ran at; `priorityName` has the name.
    public var priority: Int
    /// Its name; nil when it has none.
    public var name: String?

    /// Makes a task from its parts.
    public init(id: Int, priority: Int, name: String? = nil) {
      self.id = id
      self.priority = priority
      self.name = name
    }

    /// Swift's name of the priority, else the number.
    public var priorityName: String {
      switch priority {
      case 0x21: "user-interactive"
      case 0x19: "high"
      case 0x15: "medium"
      case 0x11: "low"
      case 0x09: "background"
      default: "\(priority)"
      }
    }
  }

  /// Why a sampled thread has no stack.
  public struct Silence: Codable, Sendable, Equatable {
    /// It blocks the sampling signal; else it did not answer in time.
    public var isBlocking: Bool
    /// The kernel's letter for its state (`R` running, `S` sleeping, `D` in the kernel, …); empty when unknown.
    public var runState: String

    /// Makes a silence from its parts.
    public init(isBlocking: Bool, runState: String) {
      self.isBlocking = isBlocking
      self.runState = runState
    }
  }

  /// One function on the stack, or inlined into it.
  public struct Frame: Codable, Sendable, Equatable {
    /// The pc: the faulting instruction, or the return address.
    public var address: Address
    /// The start of its function; nil when unknown.
    public var symbolAddress: Address?
    /// For people, demangled and simplified; empty when unknown.
    public var function: String
    /// The linkage name; empty when unknown.
    public var mangled: String
    /// The demangled name with its module, its types and its effects; nil where `function` is complete.
    public var signature: String?
    /// The source file; nil when unknown.
    public var file: String?
    /// The source line, from 1; nil when unknown.
    public var line: Int?
    /// The source column, from 1; nil when unknown.
    public var column: Int?
    /// `true` where the address itself has no line, and this is the nearest one of the same function; else nil.
    public var isLineApproximate: Bool?
    /// The image's path; nil when no image contains the address.
    public var image: String?
    /// Whether the compiler inlined it into the next frame that is not inlined.
    public var isInline: Bool
    /// Whether it is an async caller, found through the task and not on the stack.
    public var isAsync: Bool
    /// Whether it is in-app: the program's own code, not the runtime's, the system's or the compiler's.
    public var isOwn: Bool
    /// How it was found.
    public var trust: Trust

    /// Makes a frame from its parts.
    public init(
      address: Address, symbolAddress: Address? = nil, function: String = "", mangled: String = "",
      file: String? = nil, line: Int? = nil, column: Int? = nil, image: String? = nil, isInline: Bool = false,
      isAsync: Bool = false, isOwn: Bool = false, trust: Trust, signature: String? = nil
    ) {
      self.address = address
      self.symbolAddress = symbolAddress
      self.function = function
      self.mangled = mangled
      self.file = file
      self.line = line
      self.column = column
      self.image = image
      self.isInline = isInline
      self.isAsync = isAsync
      self.isOwn = isOwn
      self.trust = trust
      self.signature = signature
    }

    /// Encodes every key of the first version, and those of later ones that have a value.
    ///
    /// Most of a report is frames. An encoder writes text, numbers and null directly; for any other value, also an
    /// optional one, it first makes a container, which takes about ten times as long.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(address.description, forKey: .address)
      if let symbolAddress {
        try container.encode(symbolAddress.description, forKey: .symbolAddress)
      } else {
        try container.encodeNil(forKey: .symbolAddress)
      }
      try container.encode(function, forKey: .function)
      try container.encode(mangled, forKey: .mangled)
      if let file { try container.encode(file, forKey: .file) } else { try container.encodeNil(forKey: .file) }
      if let line { try container.encode(line, forKey: .line) } else { try container.encodeNil(forKey: .line) }
      if let column { try container.encode(column, forKey: .column) } else { try container.encodeNil(forKey: .column) }
      if let image { try container.encode(image, forKey: .image) } else { try container.encodeNil(forKey: .image) }
      try container.encode(isInline, forKey: .isInline)
      try container.encode(isAsync, forKey: .isAsync)
      try container.encode(isOwn, forKey: .isOwn)
      try container.encode(trust.rawValue, forKey: .trust)
      if let signature { try container.encode(signature, forKey: .signature) }
      if let isLineApproximate { try container.encode(isLineApproximate, forKey: .isLineApproximate) }
    }
  }

  /// How a frame was found, most reliable first.
  public struct Trust: RawRepresentable, Codable, Sendable, Hashable {
    /// The word in JSON.
    public var rawValue: String

    /// Makes a trust from its word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The pc of the signal context.
    public static let context = Trust(rawValue: "context")
    /// DWARF call frame information.
    public static let cfi = Trust(rawValue: "cfi")
    /// The saved frame pointer.
    public static let framePointer = Trust(rawValue: "frame-pointer")
    /// A word on the stack that looks like a return address.
    public static let scan = Trust(rawValue: "scan")
    /// A resume entry of the task's AsyncContext chain.
    public static let async = Trust(rawValue: "async")
    /// Unknown.
    public static let unknown = Trust(rawValue: "unknown")
  }
}
