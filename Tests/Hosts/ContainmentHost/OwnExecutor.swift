internal import Glibc

/// Runs each job on a new thread, as an executor of a program can do.
final class OwnExecutor: TaskExecutor {
  private final class Work: Sendable {
    let job: UnownedJob
    let executor: OwnExecutor

    init(_ job: UnownedJob, _ executor: OwnExecutor) {
      self.job = job
      self.executor = executor
    }

    func run() { unsafe job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let work = unsafe Unmanaged.passRetained(Work(UnownedJob(job), self))
    var thread = pthread_t()
    let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
      guard let context = unsafe context else { return nil }
      // Invariant: `passRetained` made the pointer, and only this thread consumes its reference.
      unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run()
      return nil
    }
    guard unsafe pthread_create(&thread, nil, run, work.toOpaque()) == 0 else { abort() }
    pthread_detach(thread)
  }
}
