public import CrashShield

extension Shield {
  /// Returns the result of the function, or `value` if it throws; the error's type is recorded as `try`.
  ///
  /// Replaces `try!`, which ends the process in this case. A `CancellationError` is not a fault, and is rethrown. Use
  /// `attempt(orAlways:)` where the caller cannot throw.
  @inlinable
  public static func attempt<Result, Failure: Error>(
    or value: @autoclosure () -> Result, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: () throws(Failure) -> Result
  ) throws(CancellationError) -> Result {
    do {
      return try body()
    } catch {
      if let cancellation = error as? CancellationError { throw cancellation }
      // The guard mode is not `absorb`: trap as the plain operation does.
      // swift-format-ignore: NeverUseForceTry
      guard handleThrownError(Failure.self, error, fileID, line) else { return try! rethrown(error) }
      return value()
    }
  }

  /// Returns the result of the function, or `value` if it throws any error; the error's type is recorded as `try`.
  ///
  /// Replaces `try!` where the caller cannot throw: in an accessor, an initializer for literals, or a callback. A
  /// `CancellationError` is a fault here, as it is for `try!`.
  ///
  /// ```swift
  /// var settings: Settings { Shield.attempt(orAlways: .standard) { try Settings(parsing: text) } }
  /// ```
  @inlinable
  public static func attempt<Result, Failure: Error>(
    orAlways value: @autoclosure () -> Result, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: () throws(Failure) -> Result
  ) -> Result {
    do {
      return try body()
    } catch {
      // The guard mode is not `absorb`: trap as the plain operation does.
      // swift-format-ignore: NeverUseForceTry
      guard handleThrownError(Failure.self, error, fileID, line) else { return try! rethrown(error) }
      return value()
    }
  }

  /// Returns whether the condition holds; a failed condition is recorded as `precondition`.
  ///
  /// Replaces `precondition`, which ends the process in this case; the caller decides how to continue. Under `off` and
  /// `observe`, the guard behaves like `precondition`. The condition is evaluated exactly once in each mode. The
  /// message is the reason in the record. There is no guard for `fatalError`, because the program has no code that
  /// continues after it.
  @inlinable
  public static func check(
    _ condition: @autoclosure () -> Bool, _ message: StaticString = "", fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> Bool {
    if condition() { return true }
    // The trap shows the caller's source location, as `precondition` does.
    if !handleFailedCondition("\(message)", fileID, line) {
      precondition(false, "\(message)", file: fileID, line: line)
    }
    return false
  }

  /// Returns whether the condition holds, with a message that is created at run time.
  ///
  /// Records must not contain values of the program, but a message that is created at run time can contain them.
  /// Therefore the message is evaluated only if `off` or `observe` ends the process, and the record does not contain
  /// it.
  @inlinable
  public static func check(
    _ condition: @autoclosure () -> Bool, onTrap message: @autoclosure () -> String, fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> Bool {
    if condition() { return true }
    if !handleFailedCondition("", fileID, line) { precondition(false, message(), file: fileID, line: line) }
    return false
  }

  /// Marks code that must not be reached; if it is reached, returns `value` and records the fault as `precondition`.
  ///
  /// Replaces `preconditionFailure`, which ends the process in this case. The message is the reason in the record.
  ///
  /// ```swift
  /// guard let first = parts.first else { return Shield.unreachable("a path has a part", or: "") }
  /// ```
  @inlinable
  public static func unreachable<Value>(
    _ message: StaticString = "", or value: @autoclosure () -> Value, fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> Value {
    guard handleArrival("\(message)", fileID, line) else {
      preconditionFailure("\(message)", file: fileID, line: line)
    }
    return value()
  }

  /// Marks code that must not be reached, with a message that is created at run time.
  ///
  /// Records must not contain values of the program, but a message that is created at run time may contain them.
  /// Therefore the message is evaluated only if `off` or `observe` ends the process, and the record does not contain
  /// it.
  @inlinable
  public static func unreachable<Value>(
    onTrap message: @autoclosure () -> String, or value: @autoclosure () -> Value, fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> Value {
    guard handleArrival("", fileID, line) else {
      preconditionFailure(message(), file: fileID, line: line)
    }
    return value()
  }

  @inline(never)
  @usableFromInline
  static func handleFailedCondition(_ message: String, _ fileID: StaticString, _ line: UInt) -> Bool {
    handleFault(.precondition, at: ShieldSite(fileID: fileID, line: line)) {
      message.isEmpty ? "a condition that does not hold" : message
    }
  }

  @inline(never)
  @usableFromInline
  static func handleArrival(_ message: String, _ fileID: StaticString, _ line: UInt) -> Bool {
    handleFault(.precondition, at: ShieldSite(fileID: fileID, line: line)) { message.isEmpty ? "reached" : message }
  }

  @usableFromInline
  static func rethrown<Result>(_ error: any Error) throws -> Result { throw error }

  @inline(never)
  @usableFromInline
  static func handleThrownError<Failure>(
    _: Failure.Type, _ error: any Error, _ fileID: StaticString, _ line: UInt
  ) -> Bool {
    handleFault(.try, at: ShieldSite(fileID: fileID, line: line)) { "a \(type(of: error)) was thrown" }
  }
}
