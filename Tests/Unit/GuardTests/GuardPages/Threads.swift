import Glibc

/// Runs the body on this many threads at the same time, and returns when all of them have ended.
func inThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  var threads: [pthread_t] = []
  let gate = Gate(count)
  for number in 0..<count {
    var thread = pthread_t()
    let work = unsafe Unmanaged.passRetained(
      Work {
        gate.pass()
        body(number)
      })
    // The new thread takes ownership of the passed reference.
    let result = unsafe pthread_create(
      &thread, nil,
      { context in
        guard let context = unsafe context else { return nil }
        unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
        return nil
      }, work.toOpaque())
    check(result == 0)
    threads.append(thread)
  }
  for thread in threads { pthread_join(thread, nil) }
}

private final class Work: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// A barrier at which threads wait for each other.
@safe private final class Gate: @unchecked Sendable {
  // Invariant: only pthread_barrier functions access this memory.
  private let barrier = UnsafeMutablePointer<pthread_barrier_t>.allocate(capacity: 1)
  init(_ count: Int) { unsafe pthread_barrier_init(barrier, nil, UInt32(count)) }
  func pass() { unsafe pthread_barrier_wait(barrier) }
}
