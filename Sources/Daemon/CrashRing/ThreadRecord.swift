/// One thread that did not crash, sampled by the thread sweep after the crash.
public struct ThreadRecord: Sendable, Equatable {
  /// The id of the thread.
  public var tid: Int32
  /// The thread's name.
  public var name: String
  /// Whether the thread wrote its stack.
  public var answer: Answer
  /// The kernel's letter for the thread's state (`R`, `S`, `D`, …) if the thread did not answer; otherwise empty.
  public var runState = ""
  /// General registers by DWARF number; empty if the thread did not answer.
  public var registers: [UInt64] = []
  /// Processor flags.
  public var flags: UInt64 = 0
  /// The frames, innermost first, with the async callers after the stack.
  public var frames: [CrashRecord.Frame] = []
  /// The number of `frames` before the gap of a deep recursion.
  public var frameHead = 0
  /// The depth of the stack.
  public var frameTotal = 0
  /// The reason why unwinding ended (`cs_unwind_stop`).
  public var unwindStop: UInt32 = 0
  /// The Swift task that the thread ran.
  public var task: CrashRecord.TaskFacts?

  /// The outcome of sampling a thread.
  public enum Answer: Sendable, Equatable {
    /// The thread wrote its stack.
    case whole
    /// The thread did not answer in time.
    case none
    /// The thread could not answer, because it blocks the sampling signal.
    case blocked
  }
}
