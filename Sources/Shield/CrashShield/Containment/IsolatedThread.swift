internal import CShim

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// Runs one closure on a new thread.
enum IsolatedThread {
  /// The closure that a new thread runs.
  private final class Job: Sendable {
    let work: @Sendable () -> Void
    init(_ work: @escaping @Sendable () -> Void) { self.work = work }

    /// Runs the job at `context`, and consumes the reference that the pointer holds.
    static func run(_ context: UnsafeMutableRawPointer?) {
      guard let context = unsafe context else { return }
      // Invariant: `passRetained` made the pointer, and no other code consumes its reference.
      unsafe Unmanaged<Job>.fromOpaque(context).takeRetainedValue().work()
    }
  }

  /// Runs the work on a new thread, and waits until the work has ended or trapped.
  static func run(_ work: @escaping @Sendable () -> Void) -> cs_shim_contained_end {
    let job = unsafe Unmanaged.passRetained(Job(work))
    let end = unsafe cs_shim_contained_run({ unsafe Job.run($0) }, job.toOpaque())
    // Release the reference to the job: the thread did not start, and therefore has not consumed the reference.
    if end == .CS_SHIM_CONTAINED_NO_THREAD { unsafe job.release() }
    return end
  }

  #if os(Linux)
    /// Runs the work on a new thread, and calls `ended` from a second thread, which waits for the first thread.
    ///
    /// The second thread is necessary, because the signal handler can wake a thread, but cannot resume a task.
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
  #endif
}
