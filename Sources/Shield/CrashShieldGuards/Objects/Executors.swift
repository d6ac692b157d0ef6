internal import CShimGuards
internal import Synchronization

/// Whose executor runs on this thread.
@usableFromInline
enum Executors: Sendable {
  /// Why nobody can be asked in this process; nil: the Swift runtime answers as expected.
  ///
  /// Checked once: by an actor that nobody runs, and by one that runs here.
  static let unavailable: String? = {
    guard cs_guard_has_executor_query() else { return "this Swift runtime cannot be asked whose executor runs" }
    // The question takes the two words that an executor is.
    guard unsafe MemoryLayout<UnownedSerialExecutor>.size == 2 * MemoryLayout<UInt>.size else {
      return "an executor of this Swift runtime is not two words"
    }
    let visitor = Visitor()
    guard !isKnown(words(visitor)) else { return "this Swift runtime takes any executor for an actor's own" }
    // It runs here, up to its second suspension: that is what the visitor's executor is for.
    Task.immediate { await visitor.look() }
    guard visitor.hasSeen.load(ordering: .acquiring) == 1 else {
      return "this Swift runtime does not know an actor's own executor"
    }
    return nil
  }()

  /// Whether it is certain that what runs is not this actor's executor.
  @inline(never)
  @usableFromInline
  static func isElsewhere(_ actor: any Actor) -> Bool {
    unavailable == nil && isCurrent(actor) == false
  }

  /// Nil: nobody can tell.
  private static func isCurrent(_ actor: any Actor) -> Bool? {
    let words = words(actor)
    if isKnown(words) { return true }
    // Only the runtime runs an actor that has no executor of its own, so it knows. Others may run it where no task is.
    if words.1 == 0 && words.0 != 0 { return false }
    #if compiler(>=6.3)
      // The actor keeps its executor as long as this function has the actor.
      return unsafe actor.unownedExecutor.asSerialExecutor()?.isIsolatingCurrentContext()
    #else
      // Swift 6.2 gives no executor back from two words.
      return nil
    #endif
  }

  /// Who an actor's executor is, and how it is asked; the latter is none for an actor without an executor of its own.
  fileprivate static func words(_ actor: any Actor) -> (UInt, UInt) {
    // It is two words, as was checked; they are compared only.
    unsafe unsafeBitCast(actor.unownedExecutor, to: (UInt, UInt).self)
  }

  /// Whether the runtime knows this executor as the one that runs here.
  fileprivate static func isKnown(_ words: (UInt, UInt)) -> Bool { cs_guard_is_current_executor(words.0, words.1) }
}

/// An actor that runs on whatever thread asks it.
private actor Visitor {
  private nonisolated let executor = OnTheSpot()
  /// 1: it has found itself on its own executor; 2: not.
  nonisolated let hasSeen = Atomic<Int>(0)

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

  func look() { hasSeen.store(Executors.isKnown(Executors.words(self)) ? 1 : 2, ordering: .releasing) }
}

/// Runs each job at once.
private final class OnTheSpot: SerialExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    // This executor lives as long as its actor, which the job keeps.
    unsafe job.runSynchronously(on: asUnownedSerialExecutor())
  }
}
