/// One thread that did not crash, as the sweep after the crash found it.
public struct ThreadRecord: Sendable, Equatable {
  /// The thread.
  public var tid: Int32
  /// The thread's name.
  public var name: String
  /// What came of asking it.
  public var answer: Answer
  /// The kernel's letter for what it did (`R`, `S`, `D`, …), where it did not answer; else empty.
  public var runState = ""
  /// General registers by DWARF number; none where it did not answer.
  public var registers: [UInt64] = []
  /// Processor flags.
  public var flags: UInt64 = 0
  /// Innermost first; the async chain after the stack.
  public var frames: [CrashRecord.Frame] = []
  /// How many of `frames` stand before the gap of a deep recursion.
  public var frameHead = 0
  /// Depth that was walked.
  public var frameTotal = 0
  /// Why the walk ended (`cs_unwind_stop`).
  public var unwindStop: UInt32 = 0
  /// The Swift task that it ran.
  public var task: CrashRecord.TaskFacts?

  /// Whether a thread told where it was.
  public enum Answer: Sendable, Equatable {
    /// It wrote its stack.
    case whole
    /// It did not answer in time.
    case none
    /// It could not, because it blocks the signal that asks.
    case blocked
  }
}
