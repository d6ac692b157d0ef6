internal import CShimExecutorChecks
internal import CrashShieldGuards

/// Checks whether this module's protection works in this process.
enum Liveness {
  /// The reason why the protection is off; nil if it is on.
  static var unavailable: String? { words(for: cs_executor_status()) ?? place }

  /// Describes the failure of the test that runs when the process starts; returns nil if the test succeeded.
  private static func words(for obstacle: cs_executor_obstacle) -> String? {
    switch obstacle {
    case .CS_EXECUTOR_WORKS: nil
    case .CS_EXECUTOR_NO_HOOKS: "this Swift runtime has no hooks for executor checks"
    case .CS_EXECUTOR_NOT_CALLED: "this Swift runtime does not call its hooks for executor checks"
    case .CS_EXECUTOR_OLD_CHECKS: "this process uses the executor checks from before Swift 6"
    case .CS_EXECUTOR_UNTOLD: "this Swift runtime does not reveal which executor checks may fail"
    case .CS_EXECUTOR_NO_PLACE:
      "the call site of an executor check is unknown: is the Swift library linked statically?"
    case .CS_EXECUTOR_REPLACED: "other code has replaced the hooks of executor checks"
    default: "the hooks for executor checks do not work"
    }
  }

  /// The reason why call sites of failing checks cannot be determined; nil if they can.
  ///
  /// The check runs at the first fault, or at the first call of `executorChecksUnavailableReason`.
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
    // On a stack that the thread did not start with, such as the stack of a fiber, the call site cannot be determined.
    // Do not report a reason, because call sites can be known on other threads of the process.
    if places.contains(0) || other == 0 { return nil }
    guard places.first == places.last, places.first != other else {
      return "the call site of an executor check is unknown"
    }
    return nil
  }
}

/// An actor whose executor is never the current executor.
actor Elsewhere {}

/// An actor with a custom executor that reports that it is not the current executor.
actor ElsewhereForCertain {
  private nonisolated let executor = Nowhere()

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
}

/// An executor that runs no jobs.
private final class Nowhere: SerialExecutor {
  func enqueue(_ job: consuming ExecutorJob) {}

  func isIsolatingCurrentContext() -> Bool? { false }
}
