internal import Glibc
internal import Synchronization

/// Runs the jobs of one task and its children on one thread; later ones, and those of a task that has trapped, where jobs
/// run that nobody has a wish for.
///
/// So are jobs that are no task: an actor that the task calls is served by one, which goes on with whatever else waits for
/// the actor, and would be contained as if it was the work's.
@safe
final class IsolatedExecutor: TaskExecutor, @unchecked Sendable {
  private struct State {
    var jobs: [UnownedJob] = []
    /// The thread ends when there are no more.
    var isClosed = false
    /// There is no thread.
    var isAbandoned = false
  }

  private let state = Mutex(State())
  // Sendable: a semaphore is for several threads; its memory lives as long as the executor, which each user of it keeps.
  private let news = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { unsafe sem_init(news, 0, 0) }

  deinit {
    unsafe sem_destroy(news)
    unsafe news.deallocate()
  }

  var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    guard Self.isTask(job) else { return Self.runElsewhere(job) }
    let isTaken = state.withLock { state in
      if state.isAbandoned { return false }
      state.jobs.append(job)
      return true
    }
    if isTaken { unsafe sem_post(news) } else { Self.runElsewhere(job) }
  }

  /// The thread: returns when the executor is closed and nothing is left to do.
  func run() {
    while let job = next() { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  /// The task's last act.
  func close() {
    state.withLock { $0.isClosed = true }
    unsafe sem_post(news)
  }

  /// The thread is no more.
  func abandon() {
    let left = state.withLock { state in
      state.isAbandoned = true
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in left { Self.runElsewhere(job) }
  }

  private func next() -> UnownedJob? {
    while true {
      // A signal's handler may interrupt it. Each post is waited for: whoever posts may else find no executor any more.
      while unsafe sem_wait(news) != 0 {}
      let (job, isDone) = state.withLock { state in
        (state.jobs.isEmpty ? nil : state.jobs.removeFirst(), state.isClosed)
      }
      if let job { return job }
      if isDone { return nil }
    }
  }

  /// The lowest byte says what kind of a job it is; 0 is a task.
  private static func isTask(_ job: UnownedJob) -> Bool { flags(of: job) & 0xff == 0 }

  private static func runElsewhere(_ job: UnownedJob) { globalConcurrentExecutor.enqueue(job) }
}

/// A job's flags; the library has no public name for them, the runtime exports them.
@_silgen_name("swift_task_getJobFlags")
private func flags(of job: UnownedJob) -> UInt
