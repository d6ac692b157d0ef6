import Synchronization

/// The plans that hold now: written by the policy, read by the attach thread when a process attaches and when something
/// has changed.
final class ProtectionBoard: Sendable {
  private struct State {
    var plans: [ServiceKey: ControlPlan] = [:]
    var version: UInt64 = 0
    var wake: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  /// Changes with every plan.
  var version: UInt64 { state.withLock { $0.version } }

  /// Nil: crashd has nothing to say to these processes.
  func plan(of key: ServiceKey) -> ControlPlan? { state.withLock { $0.plans[key] } }

  /// What is called after a change, from any thread.
  func onChange(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

  func set(_ plan: ControlPlan?, for key: ServiceKey) {
    let wake: (@Sendable () -> Void)? = state.withLock { state in
      guard state.plans[key] != plan else { return nil }
      state.plans[key] = plan
      state.version += 1
      return state.wake
    }
    wake?()
  }
}
