internal import CrashShieldGuards

/// The standard library's `precondition`, but a failing condition is recorded as `precondition` with its message.
///
/// Optimized programs evaluate the message too, where the standard library's do not; with the mode `off` they do not.
/// Under `absorb` the program continues after the call, so enable that only where it can.
@_transparent
public func precondition(
  _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String = String(),
  file: StaticString = #fileID, line: UInt = #line
) {
  if _fastPath(condition()) { return }
  if !handleFailedPrecondition(message, file, line) { Swift.preconditionFailure(message(), file: file, line: line) }
}

/// The standard library's `preconditionFailure`, but its message is recorded as `precondition` before the process ends,
/// also in optimized programs.
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
