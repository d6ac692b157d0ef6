internal import CShimGuards
internal import CrashShield
internal import CrashShieldGuards
public import Dispatch

/// A serial queue that may be waited for from itself.
///
/// In place of `DispatchQueue.sync` on the queue that one is on, which ends the process, or waits for ever where another queue lies
/// between. Here the body runs at once, inside of the one that waits, which is recorded as `queue`. `off` and `observe`:
/// as `DispatchQueue.sync`. Any thread.
public final class ShieldedQueue: Sendable {
  private let queue: DispatchQueue

  /// Makes a queue.
  public init(label: String, qos: DispatchQoS = .unspecified) {
    queue = DispatchQueue(label: label, qos: qos)
  }

  /// Runs the body on the queue and waits for it.
  public func sync<Result, Failure: Error>(
    fileID: StaticString = #fileID, line: UInt = #line, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if EnteredQueue.isInside(self) {
      let isAbsorbed = Shield.handleFault(.queue, at: ShieldSite(fileID: fileID, line: line)) {
        "a wait for one's own queue"
      }
      if isAbsorbed { return try body() }
    }
    // The queue rethrows any error; the body's is of one type.
    return try queue.sync { () -> Swift.Result<Result, Failure> in
      EnteredQueue.run(on: self) {
        do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
      }
    }.get()
  }

  /// Runs the body on the queue, later.
  public func async(_ body: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      EnteredQueue.run(on: self) { body() }
    }
  }
}

/// One of the queues whose bodies this thread is in, for `DispatchQueue.sync` runs a body on the thread that waits.
///
/// It stands on the thread's stack as long as the body runs. Of the thread, not of the task: a task that is made in a body
/// goes on after it, elsewhere.
@safe
private struct EnteredQueue {
  private let queue: ObjectIdentifier
  private let outer: UnsafeRawPointer?

  static func isInside(_ queue: ShieldedQueue) -> Bool {
    var next = unsafe cs_guard_entered()
    // Each of them stands on this thread's stack.
    while let entered = unsafe next?.assumingMemoryBound(to: EnteredQueue.self).pointee {
      if entered.queue == ObjectIdentifier(queue) { return true }
      unsafe next = entered.outer
    }
    return false
  }

  static func run<Result>(on queue: ShieldedQueue, _ body: () -> Result) -> Result {
    let outer = unsafe cs_guard_entered()
    let entered = unsafe EnteredQueue(queue: ObjectIdentifier(queue), outer: outer)
    // The pointer is used until the body has ended.
    return unsafe withUnsafePointer(to: entered) { entered in
      unsafe cs_guard_set_entered(entered)
      defer { unsafe cs_guard_set_entered(outer) }
      return body()
    }
  }
}
