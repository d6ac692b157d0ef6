import Foundation
import Synchronization

/// An event loop like SwiftNIO's, with its own thread.
///
/// It can answer whether it is the current executor.
final class Loop: SerialExecutor {
  private let queue = DispatchQueue(label: "loop")
  private let thread = Mutex<pthread_t?>(nil)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { [self] in run { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) } }
  }

  /// Runs work of the loop outside of any task.
  func execute(_ body: @escaping @Sendable () -> Void) { queue.async { [self] in run(body) } }

  private func run(_ body: () -> Void) {
    thread.withLock { $0 = pthread_self() }
    body()
    thread.withLock { $0 = nil }
  }

  var isInLoop: Bool { thread.withLock { $0 == pthread_self() } }

  func isIsolatingCurrentContext() -> Bool? { isInLoop }

  func checkIsolated() { precondition(isInLoop, "not in the loop") }
}

/// A loop that cannot answer whether it is the current executor, like the event loop of SwiftNIO 2.
///
/// Its check traps if it is not the current executor.
final class CheckingLoop: SerialExecutor {
  let loop = Loop()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { [self] in unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
  }

  func checkIsolated() { precondition(loop.isInLoop, "not in the loop") }
}
