internal import CShim
internal import Synchronization

/// Identifies the current executor of this thread.
@usableFromInline
enum Executors: Sendable {
  /// The reason why executors cannot be identified in this process; nil if they can be identified.
  ///
  /// The check runs once: it asks the runtime about an actor that is not running, and about an actor that is running on
  /// this thread.
  static let unavailable: String? = {
    guard cs_guard_has_executor_query() else { return "this Swift runtime does not say which executor is current" }
    // Invariant: the runtime's function takes an executor as two words.
    guard unsafe MemoryLayout<UnownedSerialExecutor>.size == 2 * MemoryLayout<UInt>.size else {
      return "an executor of this Swift runtime is not two words"
    }
    let visitor = Visitor()
    guard !isKnown(words(visitor)) else { return "this Swift runtime reports every executor as the current one" }
    // The visitor's executor runs its jobs at once, so the task runs on this thread until `look` has returned.
    Task.immediate { await visitor.look() }
    guard visitor.hasSeen.load(ordering: .acquiring) == 1 else {
      return "this Swift runtime does not report an actor's own executor as current"
    }
    return nil
  }()

  /// Whether the current executor is certainly not the actor's executor.
  @inline(never)
  @usableFromInline
  static func isElsewhere(_ actor: any Actor) -> Bool {
    unavailable == nil && isCurrent(actor) == false
  }

  /// Whether the actor's executor is the current executor; nil if the answer is unknown.
  private static func isCurrent(_ actor: any Actor) -> Bool? {
    let words = words(actor)
    if isKnown(words) { return true }
    // For an actor without a custom executor, the result is certain, because only the runtime runs the actor's jobs. A
    // custom executor can also run jobs outside of a task, so this code asks the custom executor itself.
    if words.1 == 0 && words.0 != 0 { return false }
    #if compiler(>=6.3)
      // Invariant: the actor retains its executor, and this function retains the actor.
      return unsafe actor.unownedExecutor.asSerialExecutor()?.isIsolatingCurrentContext()
    #else
      // Return nil, because in Swift 6.2 an executor cannot be created from two words.
      return nil
    #endif
  }

  /// Returns the executor's identity and its witness table; the witness table is null for an actor without a custom
  /// executor.
  fileprivate static func words(_ actor: any Actor) -> (UInt, UInt) {
    // Invariant: an executor is two words, as `unavailable` checked. The words are only compared.
    unsafe unsafeBitCast(actor.unownedExecutor, to: (UInt, UInt).self)
  }

  /// Whether the runtime reports this executor as the current executor.
  fileprivate static func isKnown(_ words: (UInt, UInt)) -> Bool { cs_guard_is_current_executor(words.0, words.1) }
}

/// An actor that runs on the thread that calls it.
private actor Visitor {
  private nonisolated let executor = OnTheSpot()
  /// 1: the actor's own executor was the current executor; 2: another executor was.
  nonisolated let hasSeen = Atomic<Int>(0)

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

  func look() { hasSeen.store(Executors.isKnown(Executors.words(self)) ? 1 : 2, ordering: .releasing) }
}

/// An executor that runs each job at once, on the thread that enqueues it.
private final class OnTheSpot: SerialExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    // Invariant: the actor retains this executor, and the job retains the actor.
    unsafe job.runSynchronously(on: asUnownedSerialExecutor())
  }
}
