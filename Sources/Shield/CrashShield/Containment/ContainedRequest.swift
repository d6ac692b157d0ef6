internal import CShim
internal import Synchronization

/// The parts of `Shield.withContainedRequest` that are not inlined into the program.
///
/// The pool is the set of the shield's threads that run Swift tasks.
@usableFromInline
enum ContainedRequest: Sendable {
  @usableFromInline static var isOn: Bool { cs_shim_containment_is_on() }

  /// Announces that the calling task suspends or ends right after it enqueues the next job.
  ///
  /// The current thread of the pool then runs that job next, and does not wake another thread for the job. If `isSo` is
  /// false, the call withdraws an earlier announcement.
  @usableFromInline
  static func runsNext(_ isSo: Bool) { cs_shim_pool_runs_next(isSo) }

  /// The preferred executor of contained requests, which is the pool; nil if the process has no pool.
  @usableFromInline
  static var executor: (any TaskExecutor)? { cs_shim_pool_is_on() ? PoolExecutor.shared : nil }

  /// Makes the request contained, and returns whether this was possible.
  ///
  /// If this was not possible, a trap of the work ends the process as usual. `continuation` is the address of the
  /// caller's continuation.
  @usableFromInline
  static func arm(_ request: UInt64, _ continuation: UInt) -> Bool {
    cs_shim_contained_request_arm(request, UInt64(continuation))
  }

  /// Prepares the calling task, which runs the work of a request.
  @usableFromInline
  static func begin(_ request: UInt64) {
    cs_shim_contained_probe()
    RequestContext.check(request)
  }

  /// Ends the request, and returns whether the calling task must resume the caller.
  ///
  /// If the result is false, the shield has already resumed the caller with a `ShieldFault`.
  @usableFromInline
  static func finish(_ request: UInt64, isArmed: Bool, hasFailed: Bool) -> Bool {
    if isArmed && !cs_shim_contained_request_finish(request) { return false }
    RequestContext.end(request, hasFailed: hasFailed)
    return true
  }
}

/// An executor that runs the jobs of its tasks on the pool.
///
/// The pool also runs all jobs of the global executor. Since Swift 6.2, however, `Task.yield` enqueues its job on the
/// executor of the task. For a task without a preferred executor, that is the runtime's executor, which uses Dispatch.
/// Contained requests therefore prefer this executor.
private final class PoolExecutor: TaskExecutor {
  static let shared = PoolExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    // Invariant: an unowned job is the address of the runtime's job, which the pool runs exactly once.
    unsafe cs_shim_pool_enqueue(unsafeBitCast(UnownedJob(job), to: UnsafeMutableRawPointer.self))
  }
}

/// Cancels the task of a contained request when the caller's task is cancelled.
///
/// `task` is the address of the request's task. 0 means that the task does not exist yet. 1 means that the caller was
/// cancelled.
@usableFromInline
struct ContainedTask: ~Copyable, Sendable {
  private let task = Atomic<UInt>(0)
  private static let isCancelled: UInt = 1

  @usableFromInline
  init() {}

  /// Stores the task, and cancels it if the caller is cancelled already.
  @usableFromInline
  func set(_ started: Task<Void, Never>) {
    // Invariant: a `Task` value is a single reference, whose bits are an address.
    let address = unsafe UInt(bitPattern: unsafeBitCast(started, to: UnsafeRawPointer.self))
    if task.compareExchange(expected: 0, desired: address, ordering: .acquiringAndReleasing).exchanged { return }
    started.cancel()
  }

  /// Cancels the task; if no task is stored yet, cancels the task as soon as it is stored.
  @usableFromInline
  func cancel() {
    let address = task.exchange(Self.isCancelled, ordering: .acquiringAndReleasing)
    guard address != Self.isCancelled, let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return }
    // Invariant: the caller keeps its reference to the task until its cancellation handler has returned.
    unsafe unsafeBitCast(pointer, to: Task<Void, Never>.self).cancel()
  }
}
