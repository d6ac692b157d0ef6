internal import CShim
internal import Synchronization

/// The error that `isolated`, `withContainedRequest` and throwing guards throw where the plain operation would trap.
public enum ShieldFault: Error, Sendable, Equatable {
  /// A value was nil.
  case missing(String)
  /// A continuation was released without being resumed.
  case leaked
  /// The operation is impossible, for the given reason. For example, the requested value is out of range, has another
  /// type or is unavailable in this state, or `isolated` cannot create a thread.
  case refused(String)
  /// Isolated work or a contained request trapped. The trapped thread never ends, and the objects and locks of the work
  /// are never released.
  case trapped
  /// The process is ending because of a trap in another place, and the drain ended before this contained request had
  /// finished.
  case ended
}

extension Shield {
  /// Runs work on a separate thread, where a Swift trap ends the work but not the process.
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
  /// **Isolation contains a trap until the process restarts; it is not error handling.** The thread that trapped stays
  /// forever. The thread's stack, and the program's objects, actors and locks that the thread holds, are never
  /// released. A thread that waits for one of these locks or actors waits forever. Isolated work should not use
  /// anything that other threads need. After a trap, shut the process down in an orderly way. Do not isolate work for
  /// which a wrong value or a half-done change is worse than a crash.
  ///
  /// Each trap is an incident with its message and its stack (`crashctl incidents`). In these cases a fault ends the
  /// process, with the usual signal and crash report:
  /// - The process has already contained 16 traps, or as many traps as the budget of `Containment.contain`.
  /// - The fault is not a trap (`ud2`, on AArch64 `brk`) but a bad access, an abort or another signal.
  /// - Dispatch, the C library or the loader is on the stack of the work. The thread can hold a lock of these
  ///   libraries, or can have initialized a global variable only in part.
  /// - Swift's concurrency library called the code that trapped. For example, the library calls the cancellation
  ///   handlers of a task while the task is locked. The body of `withCheckedContinuation` is included, because the
  ///   shield cannot distinguish it from a cancellation handler.
  /// - The work is in an `ExclusiveGate` or holds another lock of the shield.
  /// - The shield cannot distinguish the code of the C library and the Swift runtime from the program's code, as in an
  ///   executable that links the C library statically. `Shield.status.containmentObstacle` then has the reason.
  /// - The shield is not started, or another handler has replaced the shield's handler.
  ///
  /// In some cases a trap is contained, but another thread can then wait forever. One case is work that holds a lock of
  /// the program, or that is initializing a static variable of a C++ function. With the static standard library,
  /// another thread can also wait forever after a trap in a block that Dispatch runs, or in a cancellation handler that
  /// a task group calls. Further limits:
  /// - For a contained trap, the shield does not call a handler of SIGILL (on AArch64, of SIGTRAP) that the program
  ///   installed before the shield.
  /// - `exit()` works even if trapped threads exist. The callbacks of `exit()` (`atexit`, C++ destructors) must not
  ///   wait for locks or objects that these threads hold.
  /// - Synchronous work runs on a thread without a task. The work has no task-local values, and `Task.isCancelled` is
  ///   always false. However, the work belongs to the request that the caller registered by `withRequest`.
  /// - If a request begins inside the work and the work traps, the request never ends. All later reports list this
  ///   request as in flight. Call `isolated` inside `withRequest`, and not `withRequest` inside `isolated`.
  ///
  /// The calling thread waits until the work has ended. Precondition: the caller does not run on a thread of Swift's
  /// concurrency. Async code must call the asynchronous `isolated` instead. Creating the thread costs fifty to a
  /// hundred microseconds.
  ///
  /// - Returns: The result of the work.
  /// - Throws: The error of the work; `ShieldFault.trapped`; `ShieldFault.refused` if no thread can be created.
  @_disfavoredOverload
  public static func isolated<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) throws -> Value {
    let outcome = Outcome<Value>()
    let request = RequestContext.handle.get()
    return try outcome.value(
      after: IsolatedThread.run { RequestContext.carry(request) { outcome.set(Result(catching: work)) } })
  }

  /// Runs asynchronous work on a separate thread, where a Swift trap ends the work but not the process.
  ///
  /// The limits of the synchronous function apply. The work and its child tasks share the thread. **Calls to actors are
  /// not isolated**: the code of an actor that the work calls runs on the actor's own executor. A trap in the actor's
  /// code ends the process. A trap in a task that is not a child of the work also ends the process. A task that has
  /// trapped never ends, and its continuations are not resumed.
  ///
  /// **After a trap, the other tasks of the work continue without isolation**, although the caller already received
  /// `ShieldFault.trapped`. The other tasks are the child tasks, the parent and the siblings of the task that trapped.
  /// The other tasks are cancelled, and run on Swift's own threads, where their next trap ends the process. The results
  /// of the other tasks are lost. The work's cancellation handlers run after the caller has resumed.
  ///
  /// Cancelling the caller's task cancels the work. The caller still waits until the cancelled work has ended.
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
        // If the thread could not start, do not run the work, because a trap of the work would end the process.
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
            // Cancel the work last, because cancelling calls the work's cancellation handlers. These handlers can wait
            // forever for locks of the trapped thread.
            if end == .CS_SHIM_CONTAINED_TRAPPED { task.cancel() }
          }
        }
        return try outcome.value(after: end)
      } onCancel: {
        task.cancel()
      }
    #else
      // This platform has no containment: run the work directly. `containmentObstacle` reports that containment is
      // missing.
      return try await work()
    #endif
  }

  /// The maximum number of traps that `isolated` contains; 16 by default, at most 200.
  ///
  /// The budget of `Containment.contain` sets this number.
  package static var maximumContainedFaults: Int {
    get { Int(cs_shim_contained_budget()) }
    set { cs_shim_contained_set_budget(UInt32(min(max(newValue, 0), 200))) }
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
      throw ShieldFault.refused("isolated work ended its own thread")
    }
    return try result.get()
  }
}

/// A reference to the isolated work that a task belongs to.
///
/// The reference is a task-local value, because code of an actor that the task calls can run on another thread than the
/// isolated work.
@safe
package final class IsolatedWork: @unchecked Sendable {
  /// Child tasks of the work inherit this value.
  @TaskLocal static var current: IsolatedWork?

  // Sendable: the C code counts references atomically.
  private let kept: UnsafeMutableRawPointer?

  /// Retains the work that runs on this thread.
  init() { unsafe kept = cs_shim_contained_keep() }

  deinit { unsafe cs_shim_contained_release(kept) }

  /// Suspends containment on this thread until the returned value is released.
  ///
  /// Until then, a trap of the work ends the process.
  package static func hold() -> UnsafeMutableRawPointer? {
    let work = current
    return unsafe cs_shim_contained_hold(work?.kept)
  }
}
