internal import CShim
internal import Synchronization

/// The error that contained work and throwing guards throw in place of a trap.
public enum ShieldFault: Error, Sendable, Equatable {
  /// A value was nil.
  case missing(String)
  /// A continuation was released without being resumed.
  case leaked
  /// The requested value does not exist: out of range, of another type, or not in this state.
  case refused(String)
  /// Isolated work trapped: it never ends, and nothing releases what it holds.
  case trapped
}

extension Shield {
  /// Runs work on a thread of its own, so that a Swift trap in it ends the work and not the process.
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
  /// **This is containment until the process restarts, not error handling.** The thread that trapped stays forever,
  /// with its stack and all that it holds: objects, locks of the program, actors. A thread that waits for one of these
  /// waits forever. So the work should touch nothing that others need, and a trap is a reason to shut the process down
  /// in an orderly way. Where a wrong value or a half-done change is worse than a crash, do not isolate.
  ///
  /// Each trap is an incident with its message and its stack (`crashctl incidents`). The process ends, with its usual
  /// signal and crash report, where
  /// - `maximumContainedFaults` traps have been contained,
  /// - the fault is no trap (`ud2`) but a bad access, an abort or any other signal,
  /// - Dispatch, the C library or the loader are on the stack of the work, so that one of their locks may be held, or a
  ///   global variable half initialized,
  /// - Swift's concurrency library calls the work, as it calls the cancellation handlers of a task: the task is locked.
  ///   So it is for the body of `withCheckedContinuation`, which cannot be distinguished from them,
  /// - the work is in an `ExclusiveGate` or holds another lock of the shield,
  /// - `containmentUnavailableReason` gives a reason,
  /// - the shield is not started, or another handler has replaced its handler.
  ///
  /// Some cases are contained although a thread may then wait forever. They are a lock of the program, and a static
  /// variable of a C++ function that is being initialized. With the static standard library, also a block of Dispatch,
  /// and a cancellation handler that a task group calls. Further limits:
  /// - A SIGILL handler that the program had before the shield is not called for a contained trap.
  /// - `exit()` works while such threads stay, but its callbacks (`atexit`, C++ destructors) must not wait for what
  ///   they hold.
  /// - Synchronous work runs on a thread without a task: it has no task-local values, and `Task.isCancelled` is always
  ///   false.
  ///
  /// The caller waits. Precondition: it is not on a thread of Swift's concurrency; there, `await` calls the
  /// asynchronous function below. The thread costs fifty to a hundred microseconds.
  ///
  /// - Returns: The result of the work.
  /// - Throws: The error of the work; `ShieldFault.trapped`; `ShieldFault.refused` if no thread can be created.
  @_disfavoredOverload
  public static func isolated<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) throws -> Value {
    let outcome = Outcome<Value>()
    return try outcome.value(after: IsolatedThread.run { outcome.set(Result(catching: work)) })
  }

  /// Runs asynchronous work on a thread of its own, so that a Swift trap in it ends the work and not the process.
  ///
  /// The limits of the synchronous function apply. The work and its child tasks share the thread. **Actors are not
  /// isolated**: the code of an actor that the work calls, or a task that is no child of it, runs where it always does,
  /// and a trap there ends the process. A task that has trapped never ends: its continuations are not resumed.
  ///
  /// **The other tasks of the work continue without isolation**: its children, and after a trap in a child also its
  /// parent and siblings, although the caller already got `ShieldFault.trapped`. They are cancelled and run on Swift's
  /// own threads, where their next trap ends the process; their results are lost. The work's cancellation handlers run
  /// after the caller has resumed.
  ///
  /// Cancelling the caller's task cancels the work; the caller still waits for it.
  ///
  /// - Returns: The result of the work.
  /// - Throws: The error of the work; `ShieldFault.trapped`; `ShieldFault.refused` if no thread can be created.
  public static func isolated<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    #if os(Linux)
      let outcome = Outcome<Value>()
      let executor = IsolatedExecutor()
      let task = Task(executorPreference: executor) {
        // Without its thread the work would not be isolated.
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
            // Last: cancelling calls the work's own handlers, which may wait forever for what the trapped thread holds.
            if end == .CS_SHIM_CONTAINED_TRAPPED { task.cancel() }
          }
        }
        return try outcome.value(after: end)
      } onCancel: {
        task.cancel()
      }
    #else
      // Nothing is contained, see `containmentUnavailableReason`.
      return try await work()
    #endif
  }

  /// The number of traps that `isolated` contains; 16 by default, at most 200.
  ///
  /// Each contained trap costs one thread forever. The trap after the limit ends the process as it would without
  /// containment. Any thread.
  public static var maximumContainedFaults: Int {
    get { Int(cs_shim_contained_budget()) }
    set { cs_shim_contained_set_budget(UInt32(min(max(newValue, 0), 200))) }
  }

  /// The reason why `isolated` contains no trap in this process; nil if it does.
  ///
  /// Containment has to distinguish the C library and the Swift runtime from the program. Where it cannot, as in an
  /// executable that links the C library statically, each trap ends the process as it would without. Any thread.
  public static var containmentUnavailableReason: String? {
    // A text that stays.
    unsafe cs_shim_contained_obstacle().map { unsafe String(cString: $0) }
  }
}

/// The result of isolated work, set once.
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

/// Isolated work, as its task refers to it: an actor may serve the task on a thread that is not the work's.
@safe
package final class IsolatedWork: @unchecked Sendable {
  /// The child tasks of the work inherit it.
  @TaskLocal static var current: IsolatedWork?

  // Sendable: reference-counted atomically.
  private let kept: UnsafeMutableRawPointer?

  /// Retains the work of this thread.
  init() { unsafe kept = cs_shim_contained_keep() }

  deinit { unsafe cs_shim_contained_release(kept) }

  /// Suspends containment: until the returned value is released, a trap of the work on this thread ends the process.
  package static func hold() -> UnsafeMutableRawPointer? {
    let work = current
    return unsafe cs_shim_contained_hold(work?.kept)
  }
}
