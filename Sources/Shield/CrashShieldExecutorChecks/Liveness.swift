internal import CShimExecutorChecks
internal import CrashShieldGuards

/// Whether this module's protection works in this process.
enum Liveness {
  /// Why it is off; nil: it is on.
  static var unavailable: String? { words(for: cs_executor_status()) ?? place }

  /// What the test at the start of the process has found.
  private static func words(for obstacle: cs_executor_obstacle) -> String? {
    switch obstacle {
    case .CS_EXECUTOR_WORKS: nil
    case .CS_EXECUTOR_NO_HOOKS: "this Swift runtime has no hooks for checks of executors"
    case .CS_EXECUTOR_NOT_CALLED: "this Swift runtime does not call its hooks for checks of executors"
    case .CS_EXECUTOR_OLD_CHECKS: "this process has the checks of executors from before Swift 6"
    case .CS_EXECUTOR_UNTOLD: "this Swift runtime does not show which checks of executors must hold"
    case .CS_EXECUTOR_NO_PLACE:
      "where a check of executors is made cannot be told: is the Swift library linked statically?"
    case .CS_EXECUTOR_REPLACED: "other code has set the hooks of executor checks since"
    default: "the hooks for checks of executors do not work"
    }
  }

  /// Found out at the first fault, or when somebody asks.
  private static let place: String? = ImplicitGuards.probe(line: 1, reasonOfPlaces)

  @_optimize(none)
  @inline(never)
  private static func reasonOfPlaces() -> String? {
    let place = Elsewhere()
    var places: [UInt] = []
    for _ in 0..<2 {
      place.preconditionIsolated()
      places.append(ImplicitGuards.probedPC)
    }
    place.preconditionIsolated()
    let other = ImplicitGuards.probedPC
    // On a stack that is not the thread's own, as of a fibre, no place is known; elsewhere it may be.
    if places.contains(0) || other == 0 { return nil }
    guard places.first == places.last, places.first != other else {
      return "where a check of executors is made cannot be told"
    }
    return nil
  }
}

/// An actor that nobody runs.
actor Elsewhere {}

/// An actor whose executor knows that it does not run.
actor ElsewhereForCertain {
  private nonisolated let executor = Nowhere()

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
}

/// Runs nothing.
private final class Nowhere: SerialExecutor {
  func enqueue(_ job: consuming ExecutorJob) {}

  func isIsolatingCurrentContext() -> Bool? { false }
}
