internal import CrashShieldGuards

/// Checks whether this module's protections work in this process.
enum Liveness {
  /// The reason why the protections are off; nil if they are on.
  ///
  /// The check runs at the first fault, or at the first call of `implicitUnavailableReason`. The check does not run in
  /// a process without faults.
  static let unavailable: String? = ImplicitGuards.probe(line: 1, reason)

  @_optimize(none)
  @inline(never)
  private static func reason() -> String? {
    var places: [UInt] = []
    for _ in 0..<2 {
      guard unknown(Int.max) + 1 == .max else { return "an overflowing sum does not give the greatest number" }
      places.append(ImplicitGuards.probedPC)
    }
    guard unknown(Int.min) - 1 == .min else { return "an overflowing difference does not give the least number" }
    let other = ImplicitGuards.probedPC
    // On a stack that the thread did not start with, such as the stack of a fiber, the call site cannot be determined.
    // Return no error in this case, because on other threads the call sites can still be determined.
    if places.contains(0) || other == 0 { return nil }
    guard places.first == places.last, places.first != other else {
      return "the call site of a fault is unknown: is this built without frame pointers?"
    }
    return nil
  }
}

/// Hides a value from the optimizer.
@_optimize(none)
@inline(never)
func unknown<Value>(_ value: Value) -> Value { value }
