extension CrashReport {
  /// A thread of the crashed process.
  public struct CrashedThread: Codable, Sendable, Equatable {
    /// The thread id (`gettid`) in the PID namespace of the process.
    public var tid: Int
    /// The thread name, from `prctl(PR_GET_NAME)`.
    public var name: String
    /// Whether the thread crashed.
    ///
    /// Threads that did not crash were only sampled.
    public var crashed: Bool
    /// The signal of this thread; nil if the thread did not crash.
    public var signal: Signal?
    /// The runtime error message of this thread; nil if there is none.
    public var reason: String?
    /// The frames of the stack, innermost first.
    ///
    /// Each inlined function has a separate frame. The frames of async callers follow the frames of the stack.
    public var frames: [Frame]
    /// The number of omitted frames in the middle of a deep recursion; nil if no frames were omitted.
    public var framesOmitted: Int?
    /// The index in `frames` before which frames were omitted.
    ///
    /// The index counts inlined functions as well, because they are also entries of `frames`.
    ///
    /// The value is nil if no frames were omitted.
    public var framesBeforeGap: Int?
    /// The values of the registers, by name: `rax`, … `rip`, `rflags`, or `x0`, … `sp`, `pc`, `pstate`.
    public var registers: [String: Address]
    /// Why a sampled thread has no frames; nil if the thread has frames.
    public var silence: Silence?
    /// The Swift task that the thread was running.
    ///
    /// The value is nil if the thread was running no task, or if the runtime does not provide the task.
    public var task: Task?
    /// The request in which the thread crashed.
    ///
    /// The value is nil in three cases: the thread did not crash, it worked on no request, or its request is unknown.
    public var request: Request?

    /// Creates a thread from its parts.
    public init(
      tid: Int, name: String, crashed: Bool, signal: Signal? = nil, reason: String? = nil, frames: [Frame],
      framesOmitted: Int? = nil, framesBeforeGap: Int? = nil, registers: [String: Address] = [:],
      silence: Silence? = nil, task: Task? = nil, request: Request? = nil
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
      self.request = request
    }

    /// Encodes optional properties only if they have a value.
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
      // The registers are encoded as strings instead of addresses. A comment in `Frame.encode(to:)` explains why
      // strings are faster.
      try container.encode(registers.mapValues(\.description), forKey: .registers)
      try container.encodeIfPresent(silence, forKey: .silence)
      try container.encodeIfPresent(task, forKey: .task)
      try container.encodeIfPresent(request, forKey: .request)
    }
  }

  /// A Swift task.
  public struct Task: Codable, Sendable, Equatable {
    /// The id of the task in its process.
    public var id: Int
    /// The priority of the task, as `TaskPriority.rawValue`.
    ///
    /// `priorityName` is the name of this priority.
    public var priority: Int
    /// The name of the task; nil if it has none.
    public var name: String?

    /// Creates a task from its parts.
    public init(id: Int, priority: Int, name: String? = nil) {
      self.id = id
      self.priority = priority
      self.name = name
    }

    /// The name that Swift gives to the priority.
    ///
    /// If the priority has no name, the value is the number of the priority.
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
    /// Whether the thread has no stack because it blocks the sampling signal.
    ///
    /// If the value is false, the thread did not respond to the sampling signal in time.
    public var isBlocking: Bool
    /// The letter by which the kernel denotes the state of the thread (`R` running, `S` sleeping, `D` in the kernel,
    /// …).
    ///
    /// The value is empty if the state is unknown.
    public var runState: String

    /// Creates a value from its parts.
    public init(isBlocking: Bool, runState: String) {
      self.isBlocking = isBlocking
      self.runState = runState
    }
  }

  /// A function on the stack, or a function that was inlined into it.
  public struct Frame: Codable, Sendable, Equatable {
    /// The pc: the address of the faulting instruction, or a return address.
    public var address: Address
    /// The start address of the function; nil if unknown.
    public var symbolAddress: Address?
    /// The readable function name, demangled and simplified.
    ///
    /// The value is empty if the name is unknown.
    public var function: String
    /// The linkage name; empty if unknown.
    public var mangled: String
    /// The complete demangled name, with module, types and effects (such as `async throws`).
    ///
    /// The value is nil if `function` is already complete.
    public var signature: String?
    /// The source file; nil if unknown.
    public var file: String?
    /// The source line, starting with 1; nil if unknown.
    public var line: Int?
    /// The source column, starting with 1; nil if unknown.
    public var column: Int?
    /// The value is `true` if the debug information has no line for the address itself.
    ///
    /// In this case, `line` is the nearest line of the same function. If the address has a line, the value is nil.
    public var isLineApproximate: Bool?
    /// The path of the image; nil if no image contains the address.
    public var image: String?
    /// Whether the compiler inlined the function.
    ///
    /// The code of an inlined function is part of the next frame that is not inlined.
    public var isInline: Bool
    /// Whether the frame is an async caller.
    ///
    /// The frame of an async caller was found through the task instead of on the stack.
    public var isAsync: Bool
    /// Whether the frame is in-app, that is, code of the program and not of the runtime, the system or the compiler.
    public var isOwn: Bool
    /// How the unwinder found the frame.
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

    /// Encodes every key of the first schema version.
    ///
    /// Later keys are encoded only if they have a value. Encoding frames must be fast, because frames make up most of a
    /// report. An encoder writes strings, numbers and null directly. For any other value, including an optional, the
    /// encoder first creates a container, which takes about ten times as long.
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
  /// The constants are listed from the most reliable to the least reliable.
  public struct Trust: RawRepresentable, Codable, Sendable, Hashable {
    /// The value as a string, as in JSON.
    public var rawValue: String

    /// Creates a value from its string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The frame comes from the pc of the signal context.
    public static let context = Trust(rawValue: "context")
    /// The frame was found by DWARF call frame information.
    public static let cfi = Trust(rawValue: "cfi")
    /// The frame was found through the saved frame pointer.
    public static let framePointer = Trust(rawValue: "frame-pointer")
    /// The pc of the frame is a word on the stack that looks like a return address (stack scan).
    public static let scan = Trust(rawValue: "scan")
    /// The pc of the frame is the resume address of a caller in the task's chain of AsyncContexts.
    public static let async = Trust(rawValue: "async")
    /// The frame was found by a method that this version does not define.
    public static let unknown = Trust(rawValue: "unknown")
  }
}
