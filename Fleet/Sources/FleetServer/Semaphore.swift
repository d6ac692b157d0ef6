import Synchronization

/// Limits the number of tasks that run at once; the other tasks wait in order.
///
/// Tenants take turns, so the tasks of one tenant do not wait for all tasks of another one.
final class Semaphore: Sendable {
  /// Resumes a waiting task: with true if the task is refused, else with false.
  private typealias Waiter = CheckedContinuation<Bool, Never>

  private struct State {
    var free: Int
    /// The tenants with waiting tasks, in the order of their turns.
    var queues: [(tenant: Int32, waiters: [Waiter])] = []
    var waiting: Int { queues.reduce(0) { $0 + $1.waiters.count } }

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
  private let limit: Int
  private let patience: Duration?
  private let now: @Sendable () -> ContinuousClock.Instant

  /// - Parameters:
  ///   - count: The number of tasks that run at once.
  ///   - limit: The maximum number of waiting tasks; further tasks fail at once.
  ///   - patience: The maximum time for which a task waits. A task that has waited longer fails when it gets its
  ///     permit.
  ///   - now: The clock.
  init(
    _ count: Int, waiting limit: Int, patience: Duration? = nil,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    state = Mutex(State(free: count))
    (self.limit, self.patience, self.now) = (limit, patience, now)
  }

  /// The number of waiting tasks.
  var waiting: Int { state.withLock { $0.waiting } }

  func run<Value: Sendable>(
    for tenant: Int32 = 0, _ body: @Sendable () async throws(Refusal) -> Value
  ) async throws(Refusal) -> Value {
    let start = now()
    let isRefused = await withCheckedContinuation { continuation in
      let isRefused: Bool? = state.withLock { state in
        if state.free > 0 {
          state.free -= 1
          return false
        }
        if state.waiting >= limit { return true }
        state.add(continuation, tenant)
        return nil
      }
      if let isRefused { continuation.resume(returning: isRefused) }
    }
    if isRefused { throw Refusal(.busy, "\(limit) requests wait already; send the request again later") }
    defer {
      let next = state.withLock { state in
        let next = state.next()
        if next == nil { state.free += 1 }
        return next
      }
      next?.resume(returning: false)
    }
    if let patience, start.duration(to: now()) > patience {
      throw Refusal(.busy, "the request waited too long; send it again later")
    }
    return try await body()
  }
}
