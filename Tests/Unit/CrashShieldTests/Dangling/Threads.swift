import Glibc

/// Runs the work on this many new threads, and returns when all of them have ended.
///
/// Dispatch would use only as many threads as there are processors.
func onThreads(_ count: Int, _ work: @escaping @Sendable (Int) -> Void) {
  var threads: [pthread_t] = []
  for index in 0..<count {
    let argument = unsafe Unmanaged.passRetained(Work(index: index, work: work)).toOpaque()
    var thread = pthread_t()
    // The new thread takes ownership of the passed reference.
    let result = unsafe pthread_create(
      &thread, nil,
      { argument in
        if let argument = unsafe argument {
          let work = unsafe Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
          work.work(work.index)
        }
        return nil
      }, argument)
    check(result == 0)
    threads.append(thread)
  }
  for thread in threads { check(pthread_join(thread, nil) == 0) }
}

private final class Work: Sendable {
  let index: Int
  let work: @Sendable (Int) -> Void
  init(index: Int, work: @escaping @Sendable (Int) -> Void) {
    self.index = index
    self.work = work
  }
}

/// The thread ID of this thread.
@_silgen_name("gettid")
func gettid_() -> pid_t
