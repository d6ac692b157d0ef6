public import CrashReport

/// Everything that one look at a ring found, copied out and checked.
public struct RingContents: Sendable {
  /// What the process wrote about itself: no ground for access decisions.
  public var identity: Identity
  /// The image table, in table order.
  public var images: [Image] = []
  /// Complete annotations.
  public var annotations: [String: String] = [:]
  /// Complete breadcrumbs, oldest first.
  public var breadcrumbs: [Breadcrumb] = []
  /// Committed records whose CRC is right, by `sequence`.
  public var records: [CrashRecord] = []
  /// Records of a lower `sequence` are of crashes that the process survived.
  public var survived: UInt64 = 0
  /// Threads that did not crash at the time of the latest crash, in the order of the sweep; none where it has not begun.
  public var threads: [ThreadRecord] = []
  /// Crash signals that somebody took from the shield after its start, as far as it has looked.
  public var replacedHandlers: [ReplacedHandler] = []
  /// What the shield's own parts saw happen, in the order of the first time.
  public var incidents: [Incident] = []
  /// Classes that are or were protected by the quarantine, in the order in which they were.
  public var protectedClasses: [ProtectedClass] = []
  /// What tells freed memory from memory in use, and what of the memory was kept.
  public var memory = MemoryFacts()
  /// What could not be read or was never kept, by kind (`torn`, `corrupt`, `overwritten`, `noSlot`, …).
  public var losses: [String: Int] = [:]
}

extension RingContents {
  /// The first page of the ring.
  public struct Identity: Sendable, Equatable {
    /// 32 hexadecimal digits, random for each process; the report's id.
    public var ringID: String
    /// As the process sees itself.
    public var pid: Int32
    /// As the process says.
    public var uid: UInt32
    /// Nanoseconds since 1970.
    public var startTime_ns: UInt64
    /// Its name.
    public var name: String
    /// The executable's absolute path, as the process says; another text begins with `labelMark`.
    public var executable: String

    /// Stands before an executable that is no absolute path.
    public static let labelMark = "not a path: "
  }

  /// What is known of the process's memory.
  public struct MemoryFacts: Sendable, Equatable {
    /// What its records keep of it.
    public var mode: Mode = .full
    /// What glibc's malloc writes into the second word of a small block that was freed; nil when not known.
    public var heapKey: UInt64?
    /// The first byte of the heap that grows by brk; nil when not known.
    public var heapStart: UInt64?
    /// The kernel would not dump the process for its user, as its handler found at the crash.
    public var isRestricted = false

    /// What records keep of the stack and of the words around registers.
    public enum Mode: Sendable, Equatable {
      /// Nothing.
      case none
      /// All but texts, whose bytes are 0xf5.
      case scrubbed
      /// All.
      case full
      /// Nothing, because an operator has asked for that by way of crashd.
      case withheld
    }
  }

  /// One loaded image: link address = pc - bias.
  public struct Image: Sendable, Equatable {
    /// Its place in the ring's table.
    public var index: Int
    /// Link address = pc - bias.
    public var bias: UInt64
    /// First mapped byte.
    public var start: UInt64
    /// One past the last mapped byte.
    public var end: UInt64
    /// GNU build id in hexadecimal digits; may be empty.
    public var buildID: String
    /// Its path; `[vdso]` for the kernel's.
    public var path: String
    /// Whether it is the main executable.
    public var isExecutable: Bool
  }

  /// A line the program left.
  public struct Breadcrumb: Sendable, Equatable {
    /// Nanoseconds since 1970.
    public var time_ns: UInt64
    /// Its text.
    public var text: String
  }
}

/// One crashed thread as its handler wrote it.
public struct CrashRecord: Sendable, Equatable {
  /// Which slot it stands in.
  public var slot: Int
  /// How often that slot was used; with `slot` the record's identity within its ring.
  public var generation: UInt64
  /// The order of the crashes in the process; 0 is the first.
  public var sequence: UInt64
  /// Nanoseconds since 1970 at handler entry.
  public var time_ns: UInt64
  /// Nanoseconds of CLOCK_MONOTONIC at handler entry.
  public var entry_ns: UInt64
  /// Nanoseconds of CLOCK_MONOTONIC at the commit; not under the CRC.
  public var commit_ns: UInt64
  /// The thread.
  public var tid: Int32
  /// The thread's name.
  public var threadName: String
  /// Signal number.
  public var signal: Int32
  /// `si_code`.
  public var code: Int32
  /// `si_addr`.
  public var address: UInt64
  /// `si_pid`, where the signal was sent.
  public var senderPid: Int32
  /// `si_uid`, where the signal was sent.
  public var senderUid: UInt32
  /// `si_syscall` of SIGSYS, else nil.
  public var systemCall: Int32?
  /// Written by a crash inside the handler: no frames, no texts.
  public var isMinimal: Bool
  /// General registers by DWARF number.
  public var registers: [UInt64]
  /// Processor flags.
  public var flags: UInt64
  /// Page fault error code.
  public var errorCode: UInt64
  /// Exception vector.
  public var trapNumber: UInt64
  /// The faulting address as the processor saw it.
  public var faultAddress: UInt64
  /// Bytes at pc; may be empty.
  public var instruction: [UInt8]
  /// Swift's fatal-error text; may be empty.
  public var message: String
  /// glibc's abort text; may be empty.
  public var abortMessage: String
  /// Mangled type of the C++ exception in flight; may be empty.
  public var exceptionType: String
  /// Innermost first; the async chain after the stack.
  public var frames: [Frame]
  /// How many of `frames` stand before the gap of a deep recursion.
  public var frameHead: Int
  /// Depth that was walked.
  public var frameTotal: Int
  /// Why the walk ended (`cs_unwind_stop`).
  public var unwindStop: UInt32
  /// Address of the first byte of `stack`.
  public var stackStart: UInt64
  /// A copy of the stack from its top.
  public var stack: [UInt8]
  /// Minimal because its handler did not get on, not because that crashed.
  public var isLate = false
  /// What the C++ exception was made with; may be empty.
  public var exceptionText = ""
  /// The mapped file that the faulting address lies in; only of a SIGBUS.
  public var mappedFile: MappedFile?
  /// The class of the object that `message` is about, such as `Shop.Cart`; empty when it is not known.
  public var objectClass = ""
  /// The Swift task that the thread ran.
  public var task: TaskFacts?
  /// The words around what registers point at, outside of `stack`.
  public var memory: [Memory] = []
  /// One past the heap that begins at `RingContents.memory.heapStart`; 0 when not known.
  public var heapEnd: UInt64 = 0
  /// A trap in isolated work that was not contained, because the budget is used up.
  public var exceedsIsolationBudget = false
  /// From a spool file whose owner must not know the process: without address, registers, memory and texts.
  public var isBare = false

  /// A copy of some memory.
  public struct Memory: Sendable, Equatable {
    /// Address of the first byte.
    public var start: UInt64
    /// The bytes, a whole number of words.
    public var bytes: [UInt8]
  }

  /// A byte of a file.
  public struct MappedFile: Sendable, Equatable {
    /// As the kernel lists it.
    public var path: String
    /// Where the byte is, or would be if the file were so long.
    public var offset: UInt64
  }

  /// A Swift task.
  public struct TaskFacts: Sendable, Equatable {
    /// Its number in the process.
    public var id: UInt32
    /// `TaskPriority.rawValue` that it ran at.
    public var priority: UInt8
    /// `Task.name`; empty when it has none.
    public var name: String
  }

  /// One step of the walk.
  public struct Frame: Sendable, Equatable {
    /// The pc.
    public var pc: UInt64
    /// Where its function starts; nil when unknown.
    public var functionStart: UInt64?
    /// How it was found.
    public var trust: CrashReport.Trust
    /// The pc is an instruction of its own: look it up without subtracting one.
    public var isExact: Bool
    /// From the AsyncContext chain.
    public var isAsync: Bool
    /// Index into the image table; nil when the pc lies in no known image.
    public var image: Int?

    /// Makes a frame from its parts.
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
