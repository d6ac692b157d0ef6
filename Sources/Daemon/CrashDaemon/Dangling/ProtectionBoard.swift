import Synchronization

/// Contains the plan in force for each service: the classes whose objects are quarantined, and the guards' modes.
///
/// The policy keeper writes the plans. The attach thread reads the plan of a process when the process attaches and when
/// the plan changes.
final class ProtectionBoard: Sendable {
  private struct State {
    var plans: [ServiceKey: ControlPlan] = [:]
    var version: UInt64 = 0
    var wake: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  /// A number that changes whenever a plan changes.
  var version: UInt64 { state.withLock { $0.version } }

  /// Returns the plan for the processes of a service; nil if the service has no plan.
  func plan(of key: ServiceKey) -> ControlPlan? { state.withLock { $0.plans[key] } }

  /// Sets the callback that runs on any thread after a plan has changed.
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
