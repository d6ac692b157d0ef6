// The callback of the hooks in `CShim/ExecutorChecks`.
internal import CShimExecutorChecks
internal import CrashShieldGuards

/// Records a failing executor check as `isolation`; under `absorb` the check passes.
///
/// Later checks in a function that went on fail as a consequence: they pass too, and are not recorded again.
#if compiler(>=6.3)
  @c @implementation
#else
  @_cdecl("cs_executor_met")
#endif
public func cs_executor_met(
  _ type: UnsafeRawPointer!, _ isMain: Bool, _ place: UInt64, _ isConsequence: Bool
) -> Bool {
  if isConsequence && ImplicitGuards.goesOn(.isolation) { return true }
  return ImplicitGuards.handleFault(.isolation, at: .number(UInt(place)), unless: { Liveness.unavailable }) {
    if isMain { return "work of the main actor on another thread" }
    // The metadata of a living object.
    return "work of \(unsafe unsafeBitCast(type, to: Any.Type.self)) on another executor"
  }
}
