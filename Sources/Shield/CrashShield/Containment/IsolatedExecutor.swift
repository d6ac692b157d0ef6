#if os(Linux)
  #if canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #endif
  internal import Synchronization

  /// Runs the jobs of one task and of its child tasks on one thread.
  ///
  /// Jobs that arrive after the thread ended or trapped run on the global executor. Jobs that are not tasks, such as
  /// the job of an actor that the task calls, run on the global executor as well. The job of an actor can also run code
  /// for the actor's other callers, and a trap in that code must not end the isolated work.
  @safe
  final class IsolatedExecutor: TaskExecutor, @unchecked Sendable {
    private struct State {
      var jobs: [UnownedJob] = []
      /// Whether no further job will be enqueued; if true, the thread ends when `jobs` is empty.
      var isClosed = false
      /// Whether the thread has ended, and runs no further jobs.
      var isAbandoned = false
    }

    private let state = Mutex(State())
    // Sendable: several threads can use a semaphore at once. The semaphore's memory is valid as long as the executor
    // exists, and each thread that uses the semaphore retains the executor.
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

    /// Runs jobs on the calling thread until the executor is closed and no job is left.
    func run() {
      while let job = next() { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Ends the thread after its remaining jobs; the task calls this function as its last action.
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
        // Repeat `sem_wait` if a signal handler interrupts it. Each iteration must consume one post. Otherwise the
        // thread could end, and the executor could be freed, while another thread is still inside `sem_post`.
        while unsafe sem_wait(news) != 0 {}
        let (job, isDone) = state.withLock { state in
          (state.jobs.isEmpty ? nil : state.jobs.removeFirst(), state.isClosed)
        }
        if let job { return job }
        if isDone { return nil }
      }
    }

    /// Whether the job is a task: the lowest byte of the flags is the kind of a job, and 0 is a task.
    private static func isTask(_ job: UnownedJob) -> Bool { flags(of: job) & 0xff == 0 }

    private static func runElsewhere(_ job: UnownedJob) { globalConcurrentExecutor.enqueue(job) }
  }

  /// Returns the flags of a job.
  ///
  /// The concurrency library does not declare this function publicly, but the runtime exports it.
  @_silgen_name("swift_task_getJobFlags")
  private func flags(of job: UnownedJob) -> UInt
#endif
