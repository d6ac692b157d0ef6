import Glibc

/// A thread of our own, for work that waits in the kernel. (Foundation's Thread would bring all of Foundation.)
struct WorkerThread {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  private let ended: StopSignal

  init(_ run: @escaping @Sendable () -> Void) throws(SystemError) {
    var thread = pthread_t()
    let ended = try StopSignal()
    // The retain is given back by the thread's first line, or below when there is no thread.
    let body = unsafe Unmanaged.passRetained(
      Body {
        run()
        ended.stop()
      })
    let code = unsafe pthread_create(
      &thread, nil,
      { argument in
        guard let argument = unsafe argument else { return nil }
        unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, body.toOpaque())
    guard code == 0 else {
      unsafe body.release()
      throw SystemError("start a thread", code: code)
    }
    pthread_detach(thread)
    self.ended = ended
  }

  /// Waits until it has ended; false when it has not in time.
  func join(within duration: Duration) -> Bool { ended.wait(for: duration) }
}
