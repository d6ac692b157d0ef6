/// A thread that did not crash, as the thread sweep (the sampling of all threads at a crash) recorded it.
public struct ThreadRecord: Sendable, Equatable {
  /// The ID of the thread.
  public var tid: Int32
  /// The thread's name.
  public var name: String
  /// The outcome of sampling the thread.
  public var answer: Answer
  /// The letter with which the kernel names the state of the thread (`R`, `S`, `D`, …), if the thread did not answer.
  ///
  /// The string is empty if the thread answered.
  public var runState = ""
  /// The general registers, indexed by DWARF number; empty if the thread did not answer.
  public var registers: [UInt64] = []
  /// The contents of the flags register.
  public var flags: UInt64 = 0
  /// The frames of the thread, innermost first.
  ///
  /// The frames of async callers follow the frames on the stack.
  public var frames: [CrashRecord.Frame] = []
  /// The number of elements of `frames` before the gap that stands for omitted frames of a deep recursion.
  public var frameHead = 0
  /// The number of frames on the stack, including frames that `frames` omits.
  public var frameTotal = 0
  /// The reason why the unwinder stopped (`cs_unwind_stop`).
  public var unwindStop: UInt32 = 0
  /// The Swift task that the thread was running; nil if there was none.
  public var task: CrashRecord.TaskFacts?

  /// The outcome of sampling a thread.
  public enum Answer: Sendable, Equatable {
    /// The thread answered and wrote its stack.
    case whole
    /// The thread did not answer in time.
    case none
    /// The thread could not answer, because it blocks the sampling signal.
    case blocked
  }
}
