internal import CShim
internal import Synchronization

/// The error that contained work and throwing guards throw in place of a trap.
public enum ShieldFault: Error, Sendable, Equatable {
  /// A value was nil.
  case missing(String)
  /// A continuation was let go without being resumed.
  case leaked
  /// What was asked for is not there: outside of a range, not of the type, not in the state.
  case refused(String)
  /// Isolated work has trapped: it will never end, and what it had to others is lost.
  case trapped
}

extension Shield {
  /// Does work on a thread of its own, so that a Swift trap in it ends the work and not the process.
  ///
  /// ```swift
  /// do {
  ///   reply = try Shield.isolated { try render(page) }
  /// } catch ShieldFault.trapped {
  ///   reply = .internalServerError
  ///   server.stopSoon()
  /// }
  /// ```
  ///
  /// **Containment until the process is started anew, no error handling.** The thread that has trapped stays for ever where it
  /// is, with its stack and all that it holds: objects, locks of the program's own, actors. Whoever waits for one of these
  /// waits for ever. So the work should touch nothing that others need, and a trap is a reason to end the process in an orderly
  /// way. Where a wrong value or a half-done change is worse than the end of the process, do not isolate.
  ///
  /// Each trap is an incident that crashd shows with its words and its stack (`crashctl incidents`). The process ends, with its
  /// usual signal and crash report, where
  /// - `maximumContainedFaults` traps have been contained,
  /// - it is no trap (`ud2`) but a bad access, an abort or any other signal,
  /// - Dispatch, the C library or the loader are on the stack of the work, so that a lock of theirs may be taken, or a global
  ///   variable be half made,
  /// - Swift's concurrency library calls the work, as it does the handlers of a task that the work cancels: the task is locked. So
  ///   does `withCheckedContinuation` with its body, which is told from the others nowhere,
  /// - the work is in an `ExclusiveGate` or has another lock of the shield's,
  /// - `containmentUnavailableReason` says so,
  /// - the shield is not started, or another handler has taken its place.
  ///
  /// What is not seen, and so is contained with whoever waits for it waiting for ever: a lock of the program's own, a static variable
  /// within a C++ function that is being made; with the static standard library a block of Dispatch's, and a cancellation handler that a
  /// task group calls. What else to know:
  /// - A SIGILL handler that the program had before the shield is not called for a trap that is contained.
  /// - `exit()` works with threads that stay, but what it calls (`atexit`, C++ destructors) must not wait for what they have.
  /// - Synchronous work is on a thread without a task: there are no task-local values, and `Task.isCancelled` is false whatever
  ///   becomes of the caller.
  ///
  /// The caller waits, and must not be on a thread of Swift's concurrency: there the function below is what `await` calls.
  /// A thread is made for it: fifty to a hundred microseconds more than the work.
  ///
  /// - Returns: What the work returns.
  /// - Throws: What the work throws; `ShieldFault.trapped`; `ShieldFault.refused` where there is no thread for it.
  @_disfavoredOverload
  public static func isolated<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) throws -> Value {
    let outcome = Outcome<Value>()
    return try outcome.value(after: IsolatedThread.run { outcome.set(Result(catching: work)) })
  }

  /// Does asynchronous work on a thread of its own, so that a Swift trap in it ends the work and not the process.
  ///
  /// All that is said of the synchronous function holds. The work and its child tasks share the thread. **Actors are not
  /// isolated**: what an actor does for the work, or a task that is no child of it, runs where it always does, and a trap there
  /// ends the process. A task that has trapped never ends: its continuations are not resumed. **The other tasks of
  /// the work go on, not isolated**: its children, and where a child has trapped its parent and siblings, beside a caller who was
  /// told of the trap. They are cancelled and run on Swift's own threads, where their next trap ends the process; what they return is
  /// lost. The work's cancellation handlers are called, once the caller goes on.
  ///
  /// Cancelling the caller's task cancels the work, which is waited for.
  ///
  /// - Returns: What the work returns.
  /// - Throws: What the work throws; `ShieldFault.trapped`; `ShieldFault.refused` where there is no thread for it.
  public static func isolated<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let outcome = Outcome<Value>()
    let executor = IsolatedExecutor()
    let task = Task(executorPreference: executor) {
      // Without its thread it is not isolated.
      guard !executor.isAbandoned else { return }
      cs_shim_contained_task_begins()
      do {
        outcome.set(.success(try await IsolatedWork.$current.withValue(IsolatedWork()) { try await work() }))
      } catch {
        outcome.set(.failure(error))
      }
      executor.close()
    }
    return try await withTaskCancellationHandler {
      let end = await withCheckedContinuation { continuation in
        IsolatedThread.start({ executor.run() }) { end in
          executor.abandon()
          continuation.resume(returning: end)
          // Last: who is told of it is the work's own code, and may wait for what the work has for ever.
          if end == .CS_SHIM_CONTAINED_TRAPPED { task.cancel() }
        }
      }
      return try outcome.value(after: end)
    } onCancel: {
      task.cancel()
    }
  }

  /// The number of traps that `isolated` contains; 16 by default, at most 200.
  ///
  /// Each contained trap costs a thread for good. The next trap ends the process as it would without containment. Any thread.
  public static var maximumContainedFaults: Int {
    get { Int(cs_shim_contained_budget()) }
    set { cs_shim_contained_set_budget(UInt32(min(max(newValue, 0), 200))) }
  }

  /// The reason why `isolated` contains no trap in this process; nil if it does.
  ///
  /// Containment has to distinguish the C library and the Swift runtime from the program. Where it cannot, as in an executable
  /// that links the C library statically, each trap ends the process as it would without. Any thread.
  public static var containmentUnavailableReason: String? {
    // A text that stays.
    unsafe cs_shim_contained_obstacle().map { unsafe String(cString: $0) }
  }

  /// The number of traps that `isolated` has contained in this process.
  ///
  /// Any thread.
  public static var containedFaultCount: Int { Int(cs_shim_contained_parked()) }
}

/// What work came to, told once.
private final class Outcome<Value: Sendable>: Sendable {
  private let result = Mutex<Result<Value, any Error>?>(nil)

  func set(_ result: Result<Value, any Error>) { self.result.withLock { $0 = result } }

  func value(after end: cs_shim_contained_end) throws -> Value {
    switch end {
    case .CS_SHIM_CONTAINED_FINISHED: break
    case .CS_SHIM_CONTAINED_TRAPPED: throw ShieldFault.trapped
    default: throw ShieldFault.refused("no thread for isolated work")
    }
    guard let result = result.withLock({ $0 }) else {
      throw ShieldFault.refused("the thread of isolated work was ended from within")
    }
    return try result.get()
  }
}

/// Isolated work, as its task knows it: an actor may serve the task on a thread that is not the work's.
@safe
package final class IsolatedWork: @unchecked Sendable {
  /// The children of the work's task have it, too.
  @TaskLocal static var current: IsolatedWork?

  // Sendable: counted atomically, and there until it is released.
  private let kept: UnsafeMutableRawPointer?

  /// That of this thread.
  init() { unsafe kept = cs_shim_contained_keep() }

  deinit { unsafe cs_shim_contained_release(kept) }

  /// As long as what this returns is not given back, a trap of the work that goes on here ends the process.
  package static func hold() -> UnsafeMutableRawPointer? {
    let work = current
    return unsafe cs_shim_contained_hold(work?.kept)
  }
}
