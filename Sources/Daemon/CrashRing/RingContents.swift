public import CrashReport

/// The result of one reading of a ring, copied and checked.
public struct RingContents: Sendable {
  /// The data that the process wrote about itself, which must never be used for access decisions.
  public var identity: Identity
  /// The image table, in table order.
  public var images: [Image] = []
  /// Complete annotations.
  public var annotations: [String: String] = [:]
  /// Complete breadcrumbs, oldest first.
  public var breadcrumbs: [Breadcrumb] = []
  /// Committed records whose CRC is right, ordered by `sequence`.
  public var records: [CrashRecord] = []
  /// Records with a lower `sequence` belong to crashes that the process survived.
  public var survived: UInt64 = 0
  /// Threads that had not crashed at the latest crash, in the order of the thread sweep; empty before the sweep.
  public var threads: [ThreadRecord] = []
  /// Replaced handlers that the shield has found so far.
  public var replacedHandlers: [ReplacedHandler] = []
  /// Incidents that the shield recorded, in the order of their first occurrence.
  public var incidents: [Incident] = []
  /// Classes that are or were protected by the quarantine, in the order in which protection began.
  public var protectedClasses: [ProtectedClass] = []
  /// Facts about freed memory, and about how much memory is stored.
  public var memory = MemoryFacts()
  /// The counts of data that could not be read or was dropped, by kind (`torn`, `corrupt`, `overwritten`, `noSlot`, …).
  public var losses: [String: Int] = [:]
}

extension RingContents {
  /// The identity that the first page of the ring contains.
  public struct Identity: Sendable, Equatable {
    /// 32 hexadecimal digits, random for each process, which become the report's id.
    public var ringID: String
    /// The pid in the process's own namespace.
    public var pid: Int32
    /// The uid, as the process reports it.
    public var uid: UInt32
    /// The start time in nanoseconds since 1970.
    public var startTime_ns: UInt64
    /// The name of the process.
    public var name: String
    /// The absolute path of the executable, as the process reports it; any other text begins with `labelMark`.
    public var executable: String
    /// The version of the Swift runtime, such as `6.3.1`; nil if the ring has none.
    public var swiftVersion: String?

    /// The prefix of an `executable` that is not an absolute path.
    public static let labelMark = "not a path: "
  }

  /// Facts about the process's memory.
  public struct MemoryFacts: Sendable, Equatable {
    /// How much memory records contain.
    public var mode: Mode = .full
    /// The second word that glibc's malloc writes into a small freed block; nil if unknown.
    public var heapKey: UInt64?
    /// The first byte of the heap that grows by brk; nil if unknown.
    public var heapStart: UInt64?
    /// Whether the kernel would refuse to dump the process for its user, as the handler determined at the crash.
    public var isRestricted = false

    /// How much records store of the stack and of the words around registers.
    public enum Mode: Sendable, Equatable {
      /// No memory.
      case none
      /// All memory except texts, whose bytes are replaced by 0xf5.
      case scrubbed
      /// All memory.
      case full
      /// No memory, because an operator requested that in crashd's settings.
      case withheld
    }
  }

  /// One loaded image.
  public struct Image: Sendable, Equatable {
    /// The index in the ring's image table.
    public var index: Int
    /// The difference between pc and link address: link address = pc - bias.
    public var bias: UInt64
    /// The first mapped byte.
    public var start: UInt64
    /// The end of the mapped bytes, exclusive.
    public var end: UInt64
    /// The GNU build id in hexadecimal digits; may be empty.
    public var buildID: String
    /// The path; `[vdso]` for the vDSO.
    public var path: String
    /// Whether the image is the main executable.
    public var isExecutable: Bool
  }

  /// A breadcrumb of the program.
  public struct Breadcrumb: Sendable, Equatable {
    /// The time in nanoseconds since 1970.
    public var time_ns: UInt64
    /// The message of the breadcrumb.
    public var text: String
    /// The level; nil if the program gave none.
    public var level: CrashReport.Breadcrumb.Level?
    /// The part of the program that left the breadcrumb; empty if the program gave none.
    public var category = ""
    /// The metadata as keys and values.
    public var metadata: [String: String] = [:]
  }
}

/// The record of one crashed thread, as the signal handler wrote it.
public struct CrashRecord: Sendable, Equatable {
  /// The index of the record's slot.
  public var slot: Int
  /// How often the slot was used; together with `slot` it identifies the record in its ring.
  public var generation: UInt64
  /// The order of the crashes in the process, starting with 0.
  public var sequence: UInt64
  /// Nanoseconds since 1970 at handler entry.
  public var time_ns: UInt64
  /// Nanoseconds of CLOCK_MONOTONIC at handler entry.
  public var entry_ns: UInt64
  /// Nanoseconds of CLOCK_MONOTONIC at the commit; the CRC does not cover this field.
  public var commit_ns: UInt64
  /// The id of the thread.
  public var tid: Int32
  /// The thread's name.
  public var threadName: String
  /// Signal number.
  public var signal: Int32
  /// `si_code`.
  public var code: Int32
  /// `si_addr`.
  public var address: UInt64
  /// `si_pid`, if the signal was sent by a process.
  public var senderPid: Int32
  /// `si_uid`, if the signal was sent by a process.
  public var senderUid: UInt32
  /// `si_syscall` for SIGSYS; nil for other signals.
  public var systemCall: Int32?
  /// Whether the record was written for a crash inside the handler, and has no frames and no texts.
  public var isMinimal: Bool
  /// General registers by DWARF number.
  public var registers: [UInt64]
  /// Processor flags.
  public var flags: UInt64
  /// The error code of a page fault.
  public var errorCode: UInt64
  /// The number of the exception vector.
  public var trapNumber: UInt64
  /// The faulting address that the processor reported.
  public var faultAddress: UInt64
  /// The instruction bytes at pc; may be empty.
  public var instruction: [UInt8]
  /// The fatal-error text of Swift; may be empty.
  public var message: String
  /// The abort text of glibc; may be empty.
  public var abortMessage: String
  /// The mangled type of the C++ exception in flight; may be empty.
  public var exceptionType: String
  /// The frames, innermost first, with the async callers after the stack.
  public var frames: [Frame]
  /// The number of `frames` before the gap of a deep recursion.
  public var frameHead: Int
  /// The depth of the stack.
  public var frameTotal: Int
  /// The reason why unwinding ended (`cs_unwind_stop`).
  public var unwindStop: UInt32
  /// The address of the first byte of `stack`.
  public var stackStart: UInt64
  /// A copy of the stack from its top.
  public var stack: [UInt8]
  /// Whether the record is minimal because its handler made no progress, and not because the handler crashed.
  public var isLate = false
  /// The text that the C++ exception was constructed with; may be empty.
  public var exceptionText = ""
  /// The mapped file that contains the faulting address; set only for SIGBUS.
  public var mappedFile: MappedFile?
  /// The class of the object in `message`, such as `Shop.Cart`; empty if unknown.
  public var objectClass = ""
  /// The Swift task that the thread ran.
  public var task: TaskFacts?
  /// The memory words around addresses in registers, outside `stack`.
  public var memory: [Memory] = []
  /// The exclusive end of the heap that begins at `RingContents.memory.heapStart`; 0 if unknown.
  public var heapEnd: UInt64 = 0
  /// Whether a trap in contained work was not contained because the budget is used up.
  public var exceedsIsolationBudget = false
  /// Whether the record lacks address, registers, memory and texts, because its spool file belongs to a user who must
  /// not see the process.
  public var isBare = false

  /// A copy of a range of memory.
  public struct Memory: Sendable, Equatable {
    /// Address of the first byte.
    public var start: UInt64
    /// The bytes, whose number is a multiple of the word size.
    public var bytes: [UInt8]
  }

  /// The position of a byte in a file.
  public struct MappedFile: Sendable, Equatable {
    /// The path, as the kernel lists it.
    public var path: String
    /// The offset of the byte, which may be beyond the end of the file.
    public var offset: UInt64
  }

  /// A Swift task.
  public struct TaskFacts: Sendable, Equatable {
    /// The number of the task in the process.
    public var id: UInt32
    /// The `TaskPriority.rawValue` at which the task ran.
    public var priority: UInt8
    /// `Task.name`; empty if the task has no name.
    public var name: String
  }

  /// One frame of a stack.
  public struct Frame: Sendable, Equatable {
    /// The pc.
    public var pc: UInt64
    /// The start of the function; nil if unknown.
    public var functionStart: UInt64?
    /// How the frame was found.
    public var trust: CrashReport.Trust
    /// Whether the pc is the instruction itself, and is symbolicated without subtracting 1.
    public var isExact: Bool
    /// Whether the frame comes from the AsyncContext chain.
    public var isAsync: Bool
    /// The index in the image table; nil if no known image contains the pc.
    public var image: Int?

    /// Creates a frame from its parts.
    public init(
      pc: UInt64, functionStart: UInt64?, trust: CrashReport.Trust, isExact: Bool, isAsync: Bool, image: Int?
    ) {
      self.pc = pc
      self.functionStart = functionStart
      self.trust = trust
      self.isExact = isExact
      self.isAsync = isAsync
      self.image = image
    }
  }
}
