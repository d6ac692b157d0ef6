// This file has the function that the hooks in `CShim/ExecutorChecks` call.
internal import CShimExecutorChecks
internal import CrashShieldGuards

/// Records a failing executor check as an incident of the kind `isolation`; under `absorb` the check passes.
///
/// If the program's function continues after an absorbed check, its later checks would fail as a consequence. They pass
/// as well, and are not recorded.
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
    // Invariant: the type is the metadata of an object that is alive during the call.
    return "work of \(unsafe unsafeBitCast(type, to: Any.Type.self)) on another executor"
  }
}
