import Synchronization

/// Lets a few tasks run at once; the others wait in order.
///
/// Tenants take turns, so the tasks of one tenant do not wait for all tasks of another one.
final class Semaphore: Sendable {
  private typealias Waiter = CheckedContinuation<Void, Never>

  private struct State {
    var free: Int
    /// The tenants with waiting tasks, in the order of their turns.
    var queues: [(tenant: Int32, waiters: [Waiter])] = []

    mutating func add(_ waiter: Waiter, _ tenant: Int32) {
      if let at = queues.firstIndex(where: { $0.tenant == tenant }) {
        queues[at].waiters.append(waiter)
      } else {
        queues.append((tenant, [waiter]))
      }
    }

    mutating func next() -> Waiter? {
      if queues.isEmpty { return nil }
      var queue = queues.removeFirst()
      let waiter = queue.waiters.removeFirst()
      if !queue.waiters.isEmpty { queues.append(queue) }
      return waiter
    }
  }

  private let state: Mutex<State>

  init(_ count: Int) { state = Mutex(State(free: count)) }

  /// The number of waiting tasks.
  var waiting: Int { state.withLock { $0.queues.reduce(0) { $0 + $1.waiters.count } } }

  func run<Value: Sendable>(
    for tenant: Int32 = 0, _ body: @Sendable () async throws(Refusal) -> Value
  ) async throws(Refusal) -> Value {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.free > 0 {
          state.free -= 1
          return true
        }
        state.add(continuation, tenant)
        return false
      }
      if isFree { continuation.resume() }
    }
    defer {
      let next = state.withLock { state in
        let next = state.next()
        if next == nil { state.free += 1 }
        return next
      }
      next?.resume()
    }
    return try await body()
  }
}
