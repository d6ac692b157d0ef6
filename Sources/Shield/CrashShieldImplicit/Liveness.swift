internal import CrashShieldGuards

/// Whether this module's protections work in this process.
enum Liveness {
  /// Why they are off; nil: they are on.
  ///
  /// Found out at the first fault, or when somebody asks: nothing is done at the start of a process that has none.
  static let unavailable: String? = ImplicitGuards.probe(line: 1, reason)

  @_optimize(none)
  @inline(never)
  private static func reason() -> String? {
    var places: [UInt] = []
    for _ in 0..<2 {
      guard unknown(Int.max) + 1 == .max else { return "a sum too large is not the largest number" }
      places.append(ImplicitGuards.probedPC)
    }
    guard unknown(Int.min) - 1 == .min else { return "a difference too small is not the least number" }
    let other = ImplicitGuards.probedPC
    // On a stack that is not the thread's own, as of a fibre, no place is known; elsewhere it may be.
    if places.contains(0) || other == 0 { return nil }
    guard places.first == places.last, places.first != other else {
      return "where a fault is met cannot be told: is this built without frame pointers?"
    }
    return nil
  }
}

/// A value that the optimizer does not know.
@_optimize(none)
@inline(never)
func unknown<Value>(_ value: Value) -> Value { value }
