internal import CrashShieldGuards

/// As the standard library's, but for a condition that does not hold, which is recorded as `precondition` with its message.
///
/// The message is kept in optimized programs, too, where the standard library's does not say it; with the mode `off` it
/// is not asked for there. Under `absorb` the program goes on after the call, so only switch that on where it can.
@_transparent
public func precondition(
  _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String = String(),
  file: StaticString = #fileID, line: UInt = #line
) {
  if _fastPath(condition()) { return }
  if !handleFailedPrecondition(message, file, line) { Swift.preconditionFailure(message(), file: file, line: line) }
}

/// As the standard library's; before the process ends its message is recorded as `precondition`, in optimized programs, too.
@_transparent
public func preconditionFailure(
  _ message: @autoclosure () -> String = String(), file: StaticString = #fileID, line: UInt = #line
) -> Never {
  recordPreconditionFailure(message, file, line)
  Swift.preconditionFailure(message(), file: file, line: line)
}

@_optimize(none)
@inline(never)
@usableFromInline
func handleFailedPrecondition(_ message: () -> String, _ file: StaticString, _ line: UInt) -> Bool {
  ImplicitGuards.handleFault(
    .precondition, at: .site(ShieldSite(fileID: file, line: line)), unless: { Liveness.unavailable }
  ) { described(message, or: "it does not hold") }
}

@_optimize(none)
@inline(never)
@usableFromInline
func recordPreconditionFailure(_ message: () -> String, _ file: StaticString, _ line: UInt) {
  _ = ImplicitGuards.handleFault(
    .precondition, at: .site(ShieldSite(fileID: file, line: line)), hasValue: false, unless: { Liveness.unavailable }
  ) { described(message, or: "it was reached") }
}

private func described(_ message: () -> String, or standard: String) -> String {
  let text = message()
  return text.isEmpty ? standard : text
}
