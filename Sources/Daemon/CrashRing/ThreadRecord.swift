/// A thread that did not crash.
///
/// The thread sweep after the crash sampled it.
public struct ThreadRecord: Sendable, Equatable {
  /// The id of the thread.
  public var tid: Int32
  /// The thread's name.
  public var name: String
  /// The outcome of sampling the thread.
  public var answer: Answer
  /// The letter by which the kernel names the thread's state (`R`, `S`, `D`, …), if the thread did not answer.
  ///
  /// Otherwise empty.
  public var runState = ""
  /// The general registers, by DWARF number; empty if the thread did not answer.
  public var registers: [UInt64] = []
  /// The processor flags.
  public var flags: UInt64 = 0
  /// The frames, innermost first.
  ///
  /// The frames of async callers follow after the frames on the stack.
  public var frames: [CrashRecord.Frame] = []
  /// The number of entries of `frames` that are before the gap of a deep recursion.
  public var frameHead = 0
  /// The number of frames on the stack, including frames that `frames` omits.
  public var frameTotal = 0
  /// The reason why unwinding ended (`cs_unwind_stop`).
  public var unwindStop: UInt32 = 0
  /// The Swift task that the thread was running.
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
