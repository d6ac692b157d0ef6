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
