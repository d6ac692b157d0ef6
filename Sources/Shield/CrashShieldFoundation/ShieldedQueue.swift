internal import CShim
internal import CrashShield
internal import CrashShieldGuards
public import Dispatch

/// A serial queue whose bodies can call `sync` on the same queue.
///
/// Replaces `DispatchQueue.sync`. A call on the current queue ends the process, or deadlocks if the call goes through
/// another queue. `sync` of this class instead runs the new body at once, inside the body that called `sync`, and
/// records the call as `queue`. Under `off` and `observe`, the guard behaves like `DispatchQueue.sync`. May be used
/// from any thread.
public final class ShieldedQueue: Sendable {
  private let queue: DispatchQueue

  /// Creates a serial queue with this label.
  public init(label: String, qos: DispatchQoS = .unspecified) {
    queue = DispatchQueue(label: label, qos: qos)
  }

  /// Runs the body on the queue and waits for it.
  public func sync<Result, Failure: Error>(
    fileID: StaticString = #fileID, line: UInt = #line, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if EnteredQueue.isInside(self) {
      let isAbsorbed = Shield.handleFault(.queue, at: ShieldSite(fileID: fileID, line: line)) {
        "a synchronous wait for the current queue"
      }
      if isAbsorbed { return try body() }
    }
    // The queue rethrows any error; the body throws only `Failure`.
    return try queue.sync { () -> Swift.Result<Result, Failure> in
      EnteredQueue.run(on: self) {
        do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
      }
    }.get()
  }

  /// Runs the body on the queue, without waiting.
  public func async(_ body: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      EnteredQueue.run(on: self) { body() }
    }
  }
}

/// An entry in the list of queues whose bodies this thread is running.
///
/// One thread can run bodies of several queues, because `DispatchQueue.sync` runs a body on the waiting thread. Each
/// entry is on the thread's stack while its body runs. The list belongs to the thread, not to the task: a task that a
/// body creates can outlive the body, on another thread.
@safe
private struct EnteredQueue {
  private let queue: ObjectIdentifier
  private let outer: UnsafeRawPointer?

  static func isInside(_ queue: ShieldedQueue) -> Bool {
    var next = unsafe cs_guard_entered()
    // Invariant: each entry is on this thread's stack, in a frame that is still active.
    while let entered = unsafe next?.assumingMemoryBound(to: EnteredQueue.self).pointee {
      if entered.queue == ObjectIdentifier(queue) { return true }
      unsafe next = entered.outer
    }
    return false
  }

  static func run<Result>(on queue: ShieldedQueue, _ body: () -> Result) -> Result {
    let outer = unsafe cs_guard_entered()
    let entered = unsafe EnteredQueue(queue: ObjectIdentifier(queue), outer: outer)
    // Invariant: the pointer is used only until the body has returned.
    return unsafe withUnsafePointer(to: entered) { entered in
      unsafe cs_guard_set_entered(entered)
      defer { unsafe cs_guard_set_entered(outer) }
      return body()
    }
  }
}
