public import CrashReport

/// The result of reading a ring once, copied out and checked.
public struct RingContents: Sendable {
  /// What the process wrote about itself: never a basis for access decisions.
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
  /// Threads that did not crash at the time of the latest crash, in the order of the sweep; empty before the sweep.
  public var threads: [ThreadRecord] = []
  /// Replaced handlers, as far as the shield has checked.
  public var replacedHandlers: [ReplacedHandler] = []
  /// Incidents that the shield recorded, in the order of their first occurrence.
  public var incidents: [Incident] = []
  /// Classes that are or were protected by the quarantine, in that order.
  public var protectedClasses: [ProtectedClass] = []
  /// Facts about freed memory, and about how much memory is stored.
  public var memory = MemoryFacts()
  /// What could not be read or was dropped, by kind (`torn`, `corrupt`, `overwritten`, `noSlot`, …).
  public var losses: [String: Int] = [:]
}

extension RingContents {
  /// The first page of the ring.
  public struct Identity: Sendable, Equatable {
    /// 32 hexadecimal digits, random for each process; the report's id.
    public var ringID: String
    /// The pid in the process's own namespace.
    public var pid: Int32
    /// The uid, as the process reports it.
    public var uid: UInt32
    /// Nanoseconds since 1970.
    public var startTime_ns: UInt64
    /// Its name.
    public var name: String
    /// The executable's absolute path, as the process reports it; another text begins with `labelMark`.
    public var executable: String
    /// The version of the Swift runtime, such as `6.3.1`; nil where the ring has none.
    public var swiftVersion: String?

    /// The prefix of an executable that is no absolute path.
    public static let labelMark = "not a path: "
  }

  /// Facts about the process's memory.
  public struct MemoryFacts: Sendable, Equatable {
    /// What its records store of it.
    public var mode: Mode = .full
    /// The second word that glibc's malloc writes into a small freed block; nil when unknown.
    public var heapKey: UInt64?
    /// The first byte of the heap that grows by brk; nil when unknown.
    public var heapStart: UInt64?
    /// The kernel would not dump the process for its user, as its handler found at the crash.
    public var isRestricted = false

    /// How much records store of the stack and of the words around registers.
    public enum Mode: Sendable, Equatable {
      /// Nothing.
      case none
      /// All but texts, whose bytes are replaced by 0xf5.
      case scrubbed
      /// All.
      case full
      /// Nothing, because an operator requested that from crashd.
      case withheld
    }
  }

  /// One loaded image: link address = pc - bias.
  public struct Image: Sendable, Equatable {
    /// Its index in the ring's table.
    public var index: Int
    /// Link address = pc - bias.
    public var bias: UInt64
    /// First mapped byte.
    public var start: UInt64
    /// One past the last mapped byte.
    public var end: UInt64
    /// GNU build id in hexadecimal digits; may be empty.
    public var buildID: String
    /// Its path; `[vdso]` for the vDSO.
    public var path: String
    /// Whether it is the main executable.
    public var isExecutable: Bool
  }

  /// A breadcrumb of the program.
  public struct Breadcrumb: Sendable, Equatable {
    /// Nanoseconds since 1970.
    public var time_ns: UInt64
    /// Its message.
    public var text: String
    /// Its level; nil when the program gave none.
    public var level: CrashReport.Breadcrumb.Level?
    /// The part of the program; empty when it gave none.
    public var category = ""
    /// Keys and values.
    public var metadata: [String: String] = [:]
  }
}

/// The record of one crashed thread, as its handler wrote it.
public struct CrashRecord: Sendable, Equatable {
  /// Its slot.
  public var slot: Int
  /// How often that slot was used; together with `slot` it identifies the record in its ring.
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
  /// How many of `frames` are before the gap of a deep recursion.
  public var frameHead: Int
  /// The depth of the stack.
  public var frameTotal: Int
  /// Why unwinding ended (`cs_unwind_stop`).
  public var unwindStop: UInt32
  /// Address of the first byte of `stack`.
  public var stackStart: UInt64
  /// A copy of the stack from its top.
  public var stack: [UInt8]
  /// Minimal because its handler made no progress, not because it crashed.
  public var isLate = false
  /// The text that the C++ exception was constructed with; may be empty.
  public var exceptionText = ""
  /// The mapped file that contains the faulting address; only for SIGBUS.
  public var mappedFile: MappedFile?
  /// The class of the object in `message`, such as `Shop.Cart`; empty when unknown.
  public var objectClass = ""
  /// The Swift task that the thread ran.
  public var task: TaskFacts?
  /// The words around the targets of registers, outside of `stack`.
  public var memory: [Memory] = []
  /// One past the heap that begins at `RingContents.memory.heapStart`; 0 when unknown.
  public var heapEnd: UInt64 = 0
  /// A trap in contained work that was not contained, because the budget is used up.
  public var exceedsIsolationBudget = false
  /// From a spool file whose owner must not see the process: without address, registers, memory and texts.
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
    /// The path, as the kernel lists it.
    public var path: String
    /// The offset of the byte, also beyond the end of the file.
    public var offset: UInt64
  }

  /// A Swift task.
  public struct TaskFacts: Sendable, Equatable {
    /// Its number in the process.
    public var id: UInt32
    /// The `TaskPriority.rawValue` that it ran at.
    public var priority: UInt8
    /// `Task.name`; empty when it has none.
    public var name: String
  }

  /// One frame of a stack.
  public struct Frame: Sendable, Equatable {
    /// The pc.
    public var pc: UInt64
    /// The start of its function; nil when unknown.
    public var functionStart: UInt64?
    /// How it was found.
    public var trust: CrashReport.Trust
    /// The pc is an instruction itself: symbolicate it without subtracting one.
    public var isExact: Bool
    /// From the AsyncContext chain.
    public var isAsync: Bool
    /// The index in the image table; nil when no known image contains the pc.
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
