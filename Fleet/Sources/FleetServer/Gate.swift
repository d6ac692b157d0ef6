import Synchronization

/// Counts the requests of each tenant, and refuses requests above the limits.
final class RequestGate: Sendable {
  private struct State {
    var all = 0
    var tenants: [Int32: Int] = [:]
  }

  private let limits: FleetLimits
  private let state = Mutex(State())

  init(_ limits: FleetLimits) { self.limits = limits }

  func enter(_ tenant: Int32) throws(Refusal) {
    let problem: Refusal? = state.withLock { state in
      if state.tenants[tenant, default: 0] >= limits.requestsOfTenant {
        return Refusal(.tooManyRequests, "the tenant has \(limits.requestsOfTenant) requests already; send them later")
      }
      if state.all >= limits.requests { return Refusal(.busy, "the service has \(limits.requests) requests already") }
      state.all += 1
      state.tenants[tenant, default: 0] += 1
      return nil
    }
    if let problem { throw problem }
  }

  func leave(_ tenant: Int32) {
    state.withLock { state in
      state.all -= 1
      let count = state.tenants[tenant, default: 1] - 1
      state.tenants[tenant] = count == 0 ? nil : count
    }
  }
}

/// Limits the number of tasks that run at once; the others wait in order.
final class Semaphore: Sendable {
  private struct State {
    var free: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  init(_ count: Int) { state = Mutex(State(free: count)) }

  func run<Value: Sendable>(_ body: @Sendable () async throws(Refusal) -> Value) async throws(Refusal) -> Value {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.free > 0 {
          state.free -= 1
          return true
        }
        state.waiting.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
    defer {
      let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
        if state.waiting.isEmpty {
          state.free += 1
          return nil
        }
        return state.waiting.removeFirst()
      }
      next?.resume()
    }
    return try await body()
  }
}
