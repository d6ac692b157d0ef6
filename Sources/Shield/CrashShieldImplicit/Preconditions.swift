internal import CrashShieldGuards

/// Replaces the standard library's `precondition`; a failing condition is recorded as `precondition` with its message.
///
/// In an optimized program, the standard library does not evaluate the message. This function evaluates the message
/// under `observe` and `absorb`. Under `absorb` the program continues after the call. Enable `absorb` only where the
/// program can continue.
@_transparent
public func precondition(
  _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String = String(),
  file: StaticString = #fileID, line: UInt = #line
) {
  if _fastPath(condition()) { return }
  if !handleFailedPrecondition(message, file, line) { Swift.preconditionFailure(message(), file: file, line: line) }
}

/// Replaces the standard library's `preconditionFailure`; its message is recorded as `precondition` before the process
/// ends.
///
/// The message is recorded also in optimized programs, which do not print it.
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
  ) { described(message, or: "the condition does not hold") }
}

@_optimize(none)
@inline(never)
@usableFromInline
func recordPreconditionFailure(_ message: () -> String, _ file: StaticString, _ line: UInt) {
  _ = ImplicitGuards.handleFault(
    .precondition, at: .site(ShieldSite(fileID: file, line: line)), hasValue: false, unless: { Liveness.unavailable }
  ) { described(message, or: "this code was reached") }
}

private func described(_ message: () -> String, or standard: String) -> String {
  let text = message()
  return text.isEmpty ? standard : text
}
