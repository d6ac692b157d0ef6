public import CrashReport

/// The contents of a ring at one reading.
///
/// The contents are copied out of the ring and checked.
public struct RingContents: Sendable {
  /// The identity that the process wrote into the ring.
  ///
  /// The identity is untrusted and must never be used for access decisions.
  public var identity: Identity
  /// The images of the process, in the order of the ring's image table.
  public var images: [Image] = []
  /// The annotations that the program wrote completely.
  public var annotations: [String: String] = [:]
  /// The breadcrumbs that the program wrote completely, oldest first.
  public var breadcrumbs: [Breadcrumb] = []
  /// The records that were committed and have a correct CRC, ordered by `sequence`.
  public var records: [CrashRecord] = []
  /// The number of crashes that the process survived; records whose `sequence` is lower than this number belong to
  /// these crashes.
  public var survived: UInt64 = 0
  /// The threads that did not crash at the latest crash, in the order in which the thread sweep sampled their stacks;
  /// empty if the sweep has not started.
  public var threads: [ThreadRecord] = []
  /// The program's handlers that replaced the library's handlers, as far as the library has detected them.
  public var replacedHandlers: [ReplacedHandler] = []
  /// The incidents that the library in the process recorded, in the order of their first occurrence.
  public var incidents: [Incident] = []
  /// The classes that are or were protected by the quarantine, in the order in which their protection began.
  public var protectedClasses: [ProtectedClass] = []
  /// The requests in flight, and the numbers of requests since the process started; empty for the earlier version of
  /// the ring.
  public var requests = Requests()
  /// The settings and the state of containment in the process; nil if containment is off.
  public var containment: Containment?
  /// Facts about the heap of the process, and which part of its memory the records contain.
  public var memory = MemoryFacts()
  /// The numbers of items that could not be read or were dropped, by kind (`torn`, `corrupt`, `overwritten`, `noSlot`,
  /// …).
  public var losses: [String: Int] = [:]
}

extension RingContents {
  /// The identity of the process, from the first page of the ring.
  public struct Identity: Sendable, Equatable {
    /// The ID of the ring and of its report: 32 hexadecimal digits, which are random for each process.
    public var ringID: String
    /// The pid in the PID namespace of the process.
    public var pid: Int32
    /// The user ID, as the process reports it.
    public var uid: UInt32
    /// The start time of the process, in nanoseconds since 1970.
    public var startTime_ns: UInt64
    /// The name of the process.
    public var name: String
    /// The absolute path of the executable, as the process reports it.
    ///
    /// If the process reported another string, this value begins with `labelMark`.
    public var executable: String
    /// The version of the Swift runtime, such as `6.3.1`; nil if the ring does not contain a version.
    public var swiftVersion: String?
    /// The architecture of the processor.
    public var architecture = Architecture.x86_64

    /// The prefix that the reader puts before a reported `executable` that is not an absolute path.
    public static let labelMark = "not a path: "
  }

  /// Facts about the process's memory.
  public struct MemoryFacts: Sendable, Equatable {
    /// Which part of the memory the records contain.
    public var mode: Mode = .full
    /// The second word that glibc's malloc writes into a small freed block; nil if it is unknown.
    public var heapKey: UInt64?
    /// The address of the first byte of the heap that grows with brk; nil if it is unknown.
    public var heapStart: UInt64?
    /// Whether the kernel would have refused the process's user a core dump, as the signal handler determined at the
    /// crash.
    public var isRestricted = false

    /// The part of the stack, and of the words around registers, that the records contain.
    public enum Mode: Sendable, Equatable {
      /// The records contain no memory.
      case none
      /// The records contain all memory except strings, whose bytes are replaced by 0xf5.
      case scrubbed
      /// The records contain all memory.
      case full
      /// The records contain no memory, because an operator forbids it in crashd's settings.
      case withheld
    }
  }

  /// One image that the process has loaded.
  public struct Image: Sendable, Equatable {
    /// The index of the image in the ring's image table.
    public var index: Int
    /// The difference between an address in memory and its link address (the address in the image's file): link address
    /// = pc − bias.
    public var bias: UInt64
    /// The address of the first mapped byte of the image.
    public var start: UInt64
    /// The address after the last mapped byte of the image.
    public var end: UInt64
    /// The GNU build ID in hexadecimal digits; empty if the image has none.
    public var buildID: String
    /// The path of the image's file; `[vdso]` for the vDSO.
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
    /// The level of the breadcrumb; nil if the program set no level.
    public var level: CrashReport.Breadcrumb.Level?
    /// The category of the breadcrumb; empty if the program set no category.
    public var category = ""
    /// The metadata of the breadcrumb, as keys and values.
    public var metadata: [String: String] = [:]
    /// The number of the request during which the program recorded the breadcrumb; nil if there was none.
    public var request: UInt64?
  }
}

/// The record of one crashed thread, as its signal handler wrote it.
public struct CrashRecord: Sendable, Equatable {
  /// The index of the ring slot that contains the record.
  public var slot: Int
  /// How often the slot had been used before; together with `slot`, the generation identifies the record in its ring.
  public var generation: UInt64
  /// The number of the crash in the process, starting with 0.
  public var sequence: UInt64
  /// The time when the handler started, in nanoseconds since 1970.
  public var time_ns: UInt64
  /// The time when the handler started, in nanoseconds of CLOCK_MONOTONIC.
  public var entry_ns: UInt64
  /// The time when the record was committed, in nanoseconds of CLOCK_MONOTONIC.
  ///
  /// The CRC of the record does not cover this field.
  public var commit_ns: UInt64
  /// The ID of the crashed thread.
  public var tid: Int32
  /// The name of the crashed thread.
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
  /// Whether the record is minimal: it has no frames or strings, because the crash occurred inside the signal handler.
  public var isMinimal: Bool
  /// The general registers, indexed by DWARF number.
  public var registers: [UInt64]
  /// The contents of the flags register.
  public var flags: UInt64
  /// The error code that the processor reported for a page fault; on AArch64, the syndrome (ESR), or 0 if the kernel
  /// provided none.
  public var errorCode: UInt64
  /// The number of the processor exception; on AArch64, the exception class of the syndrome.
  public var trapNumber: UInt64
  /// The faulting address that the processor reported.
  public var faultAddress: UInt64
  /// The bytes of the instruction at pc; empty if they could not be read.
  public var instruction: [UInt8]
  /// The fatal error message of the Swift runtime; empty if there was none.
  public var message: String
  /// The abort message of glibc; empty if there was none.
  public var abortMessage: String
  /// The mangled type of the C++ exception that was being thrown; empty if there was none.
  public var exceptionType: String
  /// The frames on the stack, innermost first, and then the frames of async callers.
  public var frames: [Frame]
  /// The number of elements of `frames` before the gap that stands for omitted frames of a deep recursion.
  public var frameHead: Int
  /// The number of frames on the stack, including frames that `frames` omits.
  public var frameTotal: Int
  /// The reason why the unwinder stopped (`cs_unwind_stop`).
  public var unwindStop: UInt32
  /// The address of the first byte of `stack`.
  public var stackStart: UInt64
  /// A copy of the stack, starting at the innermost frame.
  public var stack: [UInt8]
  /// Whether the record is minimal because its signal handler stopped making progress; false if the handler crashed.
  public var isLate = false
  /// The message with which the C++ exception was constructed; empty if it is unknown.
  public var exceptionText = ""
  /// The mapped file that contains the faulting address; set only for SIGBUS.
  public var mappedFile: MappedFile?
  /// The class of the object that `message` mentions, such as `Shop.Cart`; empty if it is unknown.
  public var objectClass = ""
  /// The Swift task that the thread was running; nil if there was none.
  public var task: TaskFacts?
  /// The request in which the thread crashed; nil if there was none, or if it is unknown.
  public var request: RingContents.Request?
  /// The decision of the signal handler about containment (ending the request instead of the process); nil if it made
  /// none.
  public var verdict: CrashReport.Containment.Verdict?
  /// Why the signal handler did not contain the crash; nil if it recorded no reason.
  public var verdictReason: CrashReport.Containment.Reason?
  /// Copies of the memory words around the addresses in registers, outside of `stack`.
  public var memory: [Memory] = []
  /// The address after the last byte of the heap that begins at `RingContents.memory.heapStart`; 0 if it is unknown.
  public var heapEnd: UInt64 = 0
  /// Whether a trap in contained work ended the process because the process had already contained the maximum number of
  /// traps.
  public var exceedsIsolationBudget = false
  /// Whether the record omits the address, the registers, the memory and the strings.
  ///
  /// The signal handler omits these parts if the spool file belongs to a user who must not read the process's data.
  public var isBare = false
  /// The architecture of the processor, which determines the meaning of registers, addresses and instructions.
  public var architecture = Architecture.x86_64

  /// A copy of a memory range.
  public struct Memory: Sendable, Equatable {
    /// The address of the first byte of the range.
    public var start: UInt64
    /// The bytes of the range; their count is a multiple of the word size.
    public var bytes: [UInt8]
  }

  /// A position in a mapped file.
  public struct MappedFile: Sendable, Equatable {
    /// The path of the file, as the kernel lists it.
    public var path: String
    /// The offset in the file, which can be beyond the end of the file.
    public var offset: UInt64
  }

  /// Facts about a Swift task.
  public struct TaskFacts: Sendable, Equatable {
    /// The ID of the task in its process.
    public var id: UInt32
    /// The priority of the task, as `TaskPriority.rawValue`.
    public var priority: UInt8
    /// The name of the task (`Task.name`); empty if the task has no name.
    public var name: String
  }

  /// One frame of a stack.
  public struct Frame: Sendable, Equatable {
    /// The value of the program counter in this frame.
    public var pc: UInt64
    /// The start address of the function; nil if it is unknown.
    public var functionStart: UInt64?
    /// How the unwinder found the frame.
    public var trust: CrashReport.Trust
    /// Whether the pc is the address of the instruction itself; false if it is a return address, which is symbolicated
    /// after subtracting 1.
    public var isExact: Bool
    /// Whether the frame comes from the chain of async contexts and not from the stack.
    public var isAsync: Bool
    /// The index of the frame's image in the ring's image table; nil if no known image contains the pc.
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
