public import CrashReport

/// The contents of a ring that one reading found, copied and checked.
public struct RingContents: Sendable {
  /// The identity that the process wrote into the ring; untrusted, so it must never be used for access decisions.
  public var identity: Identity
  /// The image table, in table order.
  public var images: [Image] = []
  /// The annotations that were completely written.
  public var annotations: [String: String] = [:]
  /// The breadcrumbs that were completely written, oldest first.
  public var breadcrumbs: [Breadcrumb] = []
  /// The committed records with a correct CRC, ordered by `sequence`.
  public var records: [CrashRecord] = []
  /// Records whose `sequence` is below this number belong to crashes that the process survived.
  public var survived: UInt64 = 0
  /// The threads that had not crashed at the latest crash, in the order of the thread sweep; empty before the sweep.
  public var threads: [ThreadRecord] = []
  /// The replaced handlers that the in-process library has detected so far.
  public var replacedHandlers: [ReplacedHandler] = []
  /// The incidents that the in-process library recorded, in the order of their first occurrence.
  public var incidents: [Incident] = []
  /// The classes that are or were protected by the quarantine, in the order in which their protection began.
  public var protectedClasses: [ProtectedClass] = []
  /// Facts about the heap, and which part of memory the records contain.
  public var memory = MemoryFacts()
  /// The number of items that could not be read or were dropped, by kind (`torn`, `corrupt`, `overwritten`, `noSlot`,
  /// …).
  public var losses: [String: Int] = [:]
}

extension RingContents {
  /// The identity of the process, from the first page of the ring.
  public struct Identity: Sendable, Equatable {
    /// The id of the ring and of the report: 32 hexadecimal digits, which are random for each process.
    public var ringID: String
    /// The pid in the PID namespace of the process.
    public var pid: Int32
    /// The uid, as the process reports it.
    public var uid: UInt32
    /// The start time of the process, in nanoseconds since 1970.
    public var startTime_ns: UInt64
    /// The name of the process.
    public var name: String
    /// The absolute path of the executable, as the process reports it; any other string begins with `labelMark`.
    public var executable: String
    /// The version of the Swift runtime, such as `6.3.1`; nil if the ring has none.
    public var swiftVersion: String?

    /// The prefix of an `executable` that is not an absolute path.
    public static let labelMark = "not a path: "
  }

  /// Facts about the process's memory.
  public struct MemoryFacts: Sendable, Equatable {
    /// Which part of the memory the records contain.
    public var mode: Mode = .full
    /// The second word that glibc's malloc writes into a small freed block; nil if unknown.
    public var heapKey: UInt64?
    /// The first byte of the heap that grows with brk; nil if unknown.
    public var heapStart: UInt64?
    /// Whether the kernel would refuse to dump the process for its user, as the signal handler determined at the crash.
    public var isRestricted = false

    /// Which part of the stack, and of the words around registers, the records contain.
    public enum Mode: Sendable, Equatable {
      /// No memory.
      case none
      /// All memory except strings, whose bytes are replaced by 0xf5.
      case scrubbed
      /// All memory.
      case full
      /// No memory, because an operator forbids it in crashd's settings.
      case withheld
    }
  }

  /// One image that is loaded in the process.
  public struct Image: Sendable, Equatable {
    /// The index of the image in the ring's image table.
    public var index: Int
    /// The difference between an address in memory and the link address: link address = pc - bias.
    public var bias: UInt64
    /// The address of the first mapped byte.
    public var start: UInt64
    /// The end address of the mapped bytes, exclusive.
    public var end: UInt64
    /// The GNU build id in hexadecimal digits; may be empty.
    public var buildID: String
    /// The path of the file; `[vdso]` for the vDSO.
    public var path: String
    /// Whether the image is the main executable.
    public var isExecutable: Bool
  }

  /// A breadcrumb that the program recorded.
  public struct Breadcrumb: Sendable, Equatable {
    /// The time of the breadcrumb, in nanoseconds since 1970.
    public var time_ns: UInt64
    /// The message of the breadcrumb.
    public var text: String
    /// The level; nil if the program set no level.
    public var level: CrashReport.Breadcrumb.Level?
    /// The category; empty if the program set no category.
    public var category = ""
    /// The metadata as keys and values.
    public var metadata: [String: String] = [:]
  }
}

/// The record of one crashed thread, as its signal handler wrote it.
public struct CrashRecord: Sendable, Equatable {
  /// The index of the ring slot that contains the record.
  public var slot: Int
  /// How often the slot had been used; together with `slot`, this number identifies the record in its ring.
  public var generation: UInt64
  /// The number of the crash in the process, starting with 0.
  public var sequence: UInt64
  /// The time of handler entry, in nanoseconds since 1970.
  public var time_ns: UInt64
  /// The time of handler entry, in nanoseconds of CLOCK_MONOTONIC.
  public var entry_ns: UInt64
  /// The time of the commit, in nanoseconds of CLOCK_MONOTONIC; the CRC does not cover this field.
  public var commit_ns: UInt64
  /// The id of the thread.
  public var tid: Int32
  /// The thread's name.
  public var threadName: String
  /// The signal number.
  public var signal: Int32
  /// The `si_code` of the signal.
  public var code: Int32
  /// The `si_addr` of the signal.
  public var address: UInt64
  /// The `si_pid` of the signal, if a process sent the signal.
  public var senderPid: Int32
  /// The `si_uid` of the signal, if a process sent the signal.
  public var senderUid: UInt32
  /// The `si_syscall` of SIGSYS; nil for other signals.
  public var systemCall: Int32?
  /// Whether the record is minimal, that is, without frames and strings, because the crash occurred inside the signal
  /// handler.
  public var isMinimal: Bool
  /// The general registers, by DWARF number.
  public var registers: [UInt64]
  /// The processor flags.
  public var flags: UInt64
  /// The error code of a page fault.
  public var errorCode: UInt64
  /// The number of the processor exception.
  public var trapNumber: UInt64
  /// The faulting address that the processor reported.
  public var faultAddress: UInt64
  /// The instruction bytes at the pc; may be empty.
  public var instruction: [UInt8]
  /// The fatal-error message of Swift; may be empty.
  public var message: String
  /// The abort message of glibc; may be empty.
  public var abortMessage: String
  /// The mangled type of the C++ exception that was being thrown; may be empty.
  public var exceptionType: String
  /// The frames on the stack, innermost first, and then the frames of async callers.
  public var frames: [Frame]
  /// The number of entries of `frames` that are before the gap of a deep recursion.
  public var frameHead: Int
  /// The number of frames on the stack, including frames that `frames` omits.
  public var frameTotal: Int
  /// The reason why unwinding ended (`cs_unwind_stop`).
  public var unwindStop: UInt32
  /// The address of the first byte of `stack`.
  public var stackStart: UInt64
  /// A copy of the stack, from the innermost frame on.
  public var stack: [UInt8]
  /// Whether the record is minimal because its signal handler made no progress, and not because the handler crashed.
  public var isLate = false
  /// The message that the C++ exception was constructed with; may be empty.
  public var exceptionText = ""
  /// The mapped file that contains the faulting address; set only for SIGBUS.
  public var mappedFile: MappedFile?
  /// The class of the object that `message` mentions, such as `Shop.Cart`; empty if unknown.
  public var objectClass = ""
  /// The Swift task that the thread was running.
  public var task: TaskFacts?
  /// Copies of the memory words around the addresses in registers, outside `stack`.
  public var memory: [Memory] = []
  /// The exclusive end of the heap that begins at `RingContents.memory.heapStart`; 0 if unknown.
  public var heapEnd: UInt64 = 0
  /// Whether a trap in contained work ended the process because the containment budget was used up.
  public var exceedsIsolationBudget = false
  /// Whether the address, registers, memory and strings were left out.
  ///
  /// This happens if the spool file belongs to a user who must not read the process's data.
  public var isBare = false

  /// A copy of a range of memory.
  public struct Memory: Sendable, Equatable {
    /// The address of the first byte.
    public var start: UInt64
    /// The bytes, whose number is a multiple of the word size.
    public var bytes: [UInt8]
  }

  /// The position of one byte in a mapped file.
  public struct MappedFile: Sendable, Equatable {
    /// The path of the file, as the kernel lists it.
    public var path: String
    /// The offset of the byte, which may be beyond the end of the file.
    public var offset: UInt64
  }

  /// A Swift task.
  public struct TaskFacts: Sendable, Equatable {
    /// The id of the task in its process.
    public var id: UInt32
    /// The priority of the task, as `TaskPriority.rawValue`.
    public var priority: UInt8
    /// The name of the task (`Task.name`); empty if the task has no name.
    public var name: String
  }

  /// One frame of a stack.
  public struct Frame: Sendable, Equatable {
    /// The pc.
    public var pc: UInt64
    /// The start address of the function; nil if unknown.
    public var functionStart: UInt64?
    /// How the unwinder found the frame.
    public var trust: CrashReport.Trust
    /// Whether the pc is the address of the instruction itself, and is symbolicated without subtracting 1.
    public var isExact: Bool
    /// Whether the frame comes from the chain of AsyncContexts.
    public var isAsync: Bool
    /// The index in the ring's image table; nil if no known image contains the pc.
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
