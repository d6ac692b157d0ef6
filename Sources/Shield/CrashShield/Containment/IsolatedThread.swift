internal import CShim
internal import Glibc

/// A thread for one piece of work.
enum IsolatedThread {
  /// What a thread is to do.
  private final class Job: Sendable {
    let work: @Sendable () -> Void
    init(_ work: @escaping @Sendable () -> Void) { self.work = work }

    /// Does what a pointer to one says, and gives up its reference.
    static func run(_ context: UnsafeMutableRawPointer?) {
      guard let context = unsafe context else { return }
      // It was made by passRetained, and is taken once.
      unsafe Unmanaged<Job>.fromOpaque(context).takeRetainedValue().work()
    }
  }

  /// Does the work on a thread of its own, and waits for it.
  static func run(_ work: @escaping @Sendable () -> Void) -> cs_shim_contained_end {
    let job = unsafe Unmanaged.passRetained(Job(work))
    let end = unsafe cs_shim_contained_run({ unsafe Job.run($0) }, job.toOpaque())
    // Nobody has taken it.
    if end == .CS_SHIM_CONTAINED_NO_THREAD { unsafe job.release() }
    return end
  }

  /// The same, and tells how it ended from a second thread, which waits for the first: the handler of a trap can wake a
  /// thread, but not resume a task.
  static func start(
    _ work: @escaping @Sendable () -> Void, _ ended: @escaping @Sendable (cs_shim_contained_end) -> Void
  ) {
    let job = unsafe Unmanaged.passRetained(Job { ended(run(work)) })
    var thread = pthread_t()
    let routine: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
      unsafe Job.run(context)
      return nil
    }
    guard unsafe pthread_create(&thread, nil, routine, job.toOpaque()) == 0 else {
      unsafe job.release()
      ended(.CS_SHIM_CONTAINED_NO_THREAD)
      return
    }
    pthread_detach(thread)
  }
}
