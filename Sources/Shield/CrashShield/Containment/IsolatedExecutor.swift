#if os(Linux)
  #if canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #endif
  internal import Synchronization

  /// Runs the jobs of one task and its children on one thread.
  ///
  /// Jobs that come after the thread ended or trapped run on the global executor. So do jobs that are no task: an actor
  /// that the task calls may be served by such a job, which then serves the actor's other callers too; a trap there would
  /// be contained as if it were the work's.
  @safe
  final class IsolatedExecutor: TaskExecutor, @unchecked Sendable {
    private struct State {
      var jobs: [UnownedJob] = []
      /// The thread ends when no job is left.
      var isClosed = false
      /// The thread has ended.
      var isAbandoned = false
    }

    private let state = Mutex(State())
    // Sendable: several threads may use a semaphore, and its memory lives as long as the executor, which each user
    // retains.
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

    /// The thread's loop: returns when the executor is closed and no job is left.
    func run() {
      while let job = next() { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Ends the thread after its remaining jobs; the task calls it last.
    func close() {
      state.withLock { $0.isClosed = true }
      unsafe sem_post(news)
    }

    /// Moves the remaining jobs to the global executor, once the thread has ended.
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
        // A signal handler may interrupt the wait. Take every post: a poster may otherwise find the executor freed.
        while unsafe sem_wait(news) != 0 {}
        let (job, isDone) = state.withLock { state in
          (state.jobs.isEmpty ? nil : state.jobs.removeFirst(), state.isClosed)
        }
        if let job { return job }
        if isDone { return nil }
      }
    }

    /// The lowest byte of the flags is the kind of a job; 0 is a task.
    private static func isTask(_ job: UnownedJob) -> Bool { flags(of: job) & 0xff == 0 }

    private static func runElsewhere(_ job: UnownedJob) { globalConcurrentExecutor.enqueue(job) }
  }

  /// The flags of a job: the library has no public name for them, but the runtime exports them.
  @_silgen_name("swift_task_getJobFlags")
  private func flags(of job: UnownedJob) -> UInt
#endif
