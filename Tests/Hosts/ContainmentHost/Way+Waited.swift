internal import CTestKit
internal import CrashShield
internal import Glibc
internal import Synchronization

private let mutex = Mutex(0)
// Invariant: the mutex is never deallocated, and is initialized before the first access.
nonisolated(unsafe) private let posixMutex = {
  let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  unsafe pthread_mutex_init(mutex, nil)
  return unsafe mutex
}()

private actor Shared {
  private var count = 0
  func touch() { count += 1 }
  func trap() { boom() }
  func trapLater() async {
    try? await Task.sleep(for: .milliseconds(1))
    boom()
  }
}

private let shared = Shared()

@MainActor private func touchMain() {}
@MainActor private func trapOnMain() { boom() }

private let broken = boom()

extension Way {
  /// Traps of a thread that holds an object or a lock that other requests need.
  static let waited: [Way] = [
    Way("mutex", depend: { mutex.withLock { $0 += 1 } }) { _ = mutex.withLock { _ in boom() } },
    Way(
      "posix-mutex",
      depend: {
        unsafe pthread_mutex_lock(posixMutex)
        unsafe pthread_mutex_unlock(posixMutex)
      },
      {
        unsafe pthread_mutex_lock(posixMutex)
        boom()
      }),
    Way("actor", depend: { await shared.touch() }) { await shared.trap() },
    Way("actor-after-sleep", depend: { await shared.touch() }) { await shared.trapLater() },
    Way("main-actor", depend: { await touchMain() }) { await trapOnMain() },
    Way("lazy-global", depend: { _ = broken }) { _ = broken },
    Way("metadata", depend: { ch_in_metadata(nil) }) { ch_in_metadata(boomForC) },
    Way("event-loop", prepare: Loop.start, depend: { await Loop.touch() }) {
      Loop.submit { boom() }
      await Loop.touch()
    },
  ]
}

/// Runs functions on a thread that the shield takes for an event loop.
private enum Loop {
  private static let bodies = Mutex<[@Sendable () -> Void]>([])

  static func start() {
    ch_loop_start {
      let all = Loop.bodies.withLock { bodies in
        defer { bodies = [] }
        return bodies
      }
      for body in all { body() }
    }
  }

  static func submit(_ body: @escaping @Sendable () -> Void) {
    bodies.withLock { $0.append(body) }
    ch_loop_wake()
  }

  /// Runs a function on the event loop, and waits until it has returned.
  static func touch() async { await withCheckedContinuation { continuation in submit { continuation.resume() } } }
}
