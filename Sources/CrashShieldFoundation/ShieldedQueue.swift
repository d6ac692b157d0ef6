internal import CrashShield
public import Dispatch

/// A serial queue that may be waited for from itself.
///
/// In place of `DispatchQueue.sync` on the queue that one is on, which ends the process, or waits for ever where another queue lies
/// between. Here the body runs at once, inside of the one that waits, which is recorded as `queue`. `off` and `observe`:
/// as `DispatchQueue.sync`. Any thread.
public final class ShieldedQueue: Sendable {
  // The queues whose bodies this thread or task is in. `DispatchQueue.sync` runs a body on the thread that waits.
  @TaskLocal private static var entered: [ObjectIdentifier] = []

  private let queue: DispatchQueue

  /// Makes a queue.
  public init(label: String, qos: DispatchQoS = .unspecified) {
    queue = DispatchQueue(label: label, qos: qos)
  }

  /// Runs the body on the queue and waits for it.
  public func sync<Result, Failure: Error>(
    fileID: StaticString = #fileID, line: UInt = #line, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if Self.entered.contains(ObjectIdentifier(self)) {
      let isAbsorbed = Shield.absorbs(.queue, at: ShieldSite(fileID: fileID, line: line)) {
        "a wait for one's own queue"
      }
      if isAbsorbed { return try body() }
    }
    let entered = Self.entered + [ObjectIdentifier(self)]
    // The queue rethrows any error; the body's is of one type.
    return try queue.sync { () -> Swift.Result<Result, Failure> in
      Self.$entered.withValue(entered) {
        do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
      }
    }.get()
  }

  /// Runs the body on the queue, later.
  public func async(_ body: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      Self.$entered.withValue([ObjectIdentifier(self)]) { body() }
    }
  }
}
