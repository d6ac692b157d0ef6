extension CrashReport {
  /// A thread of the crashed process.
  public struct CrashedThread: Codable, Sendable, Equatable {
    /// The thread id in the pid namespace of the process (`gettid`).
    public var tid: Int
    /// The name from `prctl(PR_GET_NAME)`.
    public var name: String
    /// Whether the thread crashed.
    ///
    /// Other threads were only sampled.
    public var crashed: Bool
    /// The signal of this thread, if it crashed.
    public var signal: Signal?
    /// The error message of this thread, if it has one.
    public var reason: String?
    /// The frames, innermost first.
    ///
    /// Inline frames are expanded, and the async callers follow the stack.
    public var frames: [Frame]
    /// The number of frames of a deep recursion that were omitted in the middle, or nil if none was omitted.
    public var framesOmitted: Int?
    /// The number of `frames`, including inline frames, before that gap, or nil if there is no gap.
    public var framesBeforeGap: Int?
    /// The registers by name: `rax`, … `rip`, `rflags`.
    public var registers: [String: Address]
    /// The reason why a sampled thread has no frames, or nil if the thread was sampled successfully.
    public var silence: Silence?
    /// The Swift task that the thread ran, or nil if it ran none, or if the runtime does not provide it.
    public var task: Task?

    /// Creates a thread from its parts.
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

    /// Encodes optional parts only if they have a value.
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
      // The registers are encoded as strings directly. `Frame.encode(to:)` explains why that is faster.
      try container.encode(registers.mapValues(\.description), forKey: .registers)
      try container.encodeIfPresent(silence, forKey: .silence)
      try container.encodeIfPresent(task, forKey: .task)
    }
  }

  /// A Swift task.
  public struct Task: Codable, Sendable, Equatable {
    /// The number of the task in the process.
    public var id: Int
    /// The `TaskPriority.rawValue` at which the task ran.
    ///
    /// `priorityName` is its name.
    public var priority: Int
    /// The name of the task, or nil if it has none.
    public var name: String?

    /// Creates a task from its parts.
    public init(id: Int, priority: Int, name: String? = nil) {
      self.id = id
      self.priority = priority
      self.name = name
    }

    /// Swift's name of the priority.
    ///
    /// If it has no name, its number.
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

  /// The reason why a sampled thread has no stack.
  public struct Silence: Codable, Sendable, Equatable {
    /// Whether the thread blocks the sampling signal.
    ///
    /// Otherwise it did not answer in time.
    public var isBlocking: Bool
    /// The kernel's letter for the state of the thread (`R` running, `S` sleeping, `D` in the kernel, …), or empty if
    /// unknown.
    public var runState: String

    /// Creates a value from its parts.
    public init(isBlocking: Bool, runState: String) {
      self.isBlocking = isBlocking
      self.runState = runState
    }
  }

  /// A function on the stack, or a function that was inlined into it.
  public struct Frame: Codable, Sendable, Equatable {
    /// The pc, which is the faulting instruction or the return address.
    public var address: Address
    /// The start address of the function, or nil if unknown.
    public var symbolAddress: Address?
    /// The function's name for people, demangled and simplified, or empty if unknown.
    public var function: String
    /// The linkage name, or empty if unknown.
    public var mangled: String
    /// The demangled name with its module, types and effects, or nil if `function` is already complete.
    public var signature: String?
    /// The source file, or nil if unknown.
    public var file: String?
    /// The source line, from 1, or nil if unknown.
    public var line: Int?
    /// The source column, from 1, or nil if unknown.
    public var column: Int?
    /// `true` if the address has no line, and this is the nearest line of the same function.
    ///
    /// Otherwise nil.
    public var isLineApproximate: Bool?
    /// The path of the image, or nil if no image contains the address.
    public var image: String?
    /// Whether the compiler inlined the function into the next frame that is not inlined.
    public var isInline: Bool
    /// Whether the frame is an async caller, which was found through the task and not on the stack.
    public var isAsync: Bool
    /// Whether the frame is in-app: code of the program, not of the runtime, the system or the compiler.
    public var isOwn: Bool
    /// How the frame was found.
    public var trust: Trust

    /// Creates a frame from its parts.
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

    /// Encodes every key of the first version, and those later keys that have a value.
    ///
    /// Most of a report consists of frames. An encoder writes strings, numbers and null directly. For any other value,
    /// including an optional, it first creates a container, which takes about ten times as long.
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

  /// How a frame was found.
  ///
  /// The values are listed from the most to the least reliable.
  public struct Trust: RawRepresentable, Codable, Sendable, Hashable {
    /// The text in JSON.
    public var rawValue: String

    /// Creates a value from its text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The frame comes from the pc of the signal context.
    public static let context = Trust(rawValue: "context")
    /// The frame was found by DWARF call frame information.
    public static let cfi = Trust(rawValue: "cfi")
    /// The frame was found by the saved frame pointer.
    public static let framePointer = Trust(rawValue: "frame-pointer")
    /// The frame is a word on the stack that looks like a return address.
    public static let scan = Trust(rawValue: "scan")
    /// The frame is a resume entry in the AsyncContext chain of the task.
    public static let async = Trust(rawValue: "async")
    /// It is unknown how the frame was found.
    public static let unknown = Trust(rawValue: "unknown")
  }
}
