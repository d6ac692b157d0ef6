/// One thread that did not crash, sampled by the sweep after the crash.
public struct ThreadRecord: Sendable, Equatable {
  /// The thread.
  public var tid: Int32
  /// The thread's name.
  public var name: String
  /// The outcome of sampling it.
  public var answer: Answer
  /// The kernel's letter for its state (`R`, `S`, `D`, …), where it did not answer; else empty.
  public var runState = ""
  /// General registers by DWARF number; empty where it did not answer.
  public var registers: [UInt64] = []
  /// Processor flags.
  public var flags: UInt64 = 0
  /// Innermost first; the async chain after the stack.
  public var frames: [CrashRecord.Frame] = []
  /// How many of `frames` are before the gap of a deep recursion.
  public var frameHead = 0
  /// The depth of the stack.
  public var frameTotal = 0
  /// Why unwinding ended (`cs_unwind_stop`).
  public var unwindStop: UInt32 = 0
  /// The Swift task that it ran.
  public var task: CrashRecord.TaskFacts?

  /// Whether a thread wrote its stack.
  public enum Answer: Sendable, Equatable {
    /// It wrote its stack.
    case whole
    /// It did not answer in time.
    case none
    /// It could not, because it blocks the sampling signal.
    case blocked
  }
}
