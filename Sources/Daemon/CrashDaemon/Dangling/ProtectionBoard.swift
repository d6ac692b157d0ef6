import Synchronization

/// The plans in force.
///
/// The policy writes them; the attach thread reads them when a process attaches and when one changes.
final class ProtectionBoard: Sendable {
  private struct State {
    var plans: [ServiceKey: ControlPlan] = [:]
    var version: UInt64 = 0
    var wake: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  /// Changes with every plan.
  var version: UInt64 { state.withLock { $0.version } }

  /// Nil: crashd has no plan for these processes.
  func plan(of key: ServiceKey) -> ControlPlan? { state.withLock { $0.plans[key] } }

  /// Sets the callback that runs after a change, on any thread.
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
