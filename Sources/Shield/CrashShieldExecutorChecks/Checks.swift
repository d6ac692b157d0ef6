// What the hooks of `CShim/ExecutorChecks` tell.
internal import CShimExecutorChecks
internal import CrashShieldGuards

/// A check of executors does not hold: it is recorded as `isolation`, and under `absorb` it passes.
///
/// What a function calls that went on after such a check fails as a consequence: it passes, too, and is not recorded again.
@c @implementation
public func cs_executor_met(
  _ type: UnsafeRawPointer!, _ isMain: Bool, _ place: UInt64, _ isConsequence: Bool
) -> Bool {
  if isConsequence && ImplicitGuards.goesOn(.isolation) { return true }
  return ImplicitGuards.handleFault(.isolation, at: .number(UInt(place)), unless: { Liveness.unavailable }) {
    if isMain { return "work of the main actor on another thread" }
    // It is the metadata of a living object.
    return "work of \(unsafe unsafeBitCast(type, to: Any.Type.self)) on another executor"
  }
}
