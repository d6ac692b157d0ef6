public import CrashShield

extension Shield {
  /// The result of the function, or `value` if it throws; the error's type is recorded as `try`.
  ///
  /// In place of `try!`, which ends the process. `CancellationError` is thrown on: it is no fault. Where nothing can be
  /// thrown there is `attempt(orAlways:)`.
  @inlinable
  public static func attempt<Result, Failure: Error>(
    or value: @autoclosure () -> Result, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: () throws(Failure) -> Result
  ) throws(CancellationError) -> Result {
    do {
      return try body()
    } catch {
      if let cancellation = error as? CancellationError { throw cancellation }
      // The trap of the plain operation is intended here.
      // swift-format-ignore: NeverUseForceTry
      guard handleThrownError(Failure.self, error, fileID, line) else { return try! rethrown(error) }
      return value()
    }
  }

  /// The result of the function, or `value` if it throws any error; the error's type is recorded as `try`.
  ///
  /// In place of `try!` where nothing can be thrown on: in an accessor, an initializer for literals, a callback. A
  /// `CancellationError` is a fault there, as it is for `try!`.
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
      // The trap of the plain operation is intended here.
      // swift-format-ignore: NeverUseForceTry
      guard handleThrownError(Failure.self, error, fileID, line) else { return try! rethrown(error) }
      return value()
    }
  }

  /// Whether the condition holds; that it does not is recorded as `precondition`.
  ///
  /// In place of `precondition`, which ends the process; the caller decides what to do instead. `off` and `observe`: as
  /// `precondition`. The condition is evaluated once in each mode; the message is the record's reason.
  /// `fatalError` has no such form: what follows it was never meant to run.
  @inlinable
  public static func check(
    _ condition: @autoclosure () -> Bool, _ message: StaticString = "", fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> Bool {
    if condition() { return true }
    // With the caller's source location, as the plain operation.
    if !handleFailedCondition("\(message)", fileID, line) {
      precondition(false, "\(message)", file: fileID, line: line)
    }
    return false
  }

  /// The same with a message that is made at run time.
  ///
  /// It may contain values, which no record has. So it is used only where `off` and `observe` end the process, and not
  /// evaluated otherwise.
  @inlinable
  public static func check(
    _ condition: @autoclosure () -> Bool, onTrap message: @autoclosure () -> String, fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> Bool {
    if condition() { return true }
    if !handleFailedCondition("", fileID, line) { precondition(false, message(), file: fileID, line: line) }
    return false
  }

  /// Code that is never reached; reaching it is recorded as `precondition`, and returns `value`.
  ///
  /// In place of `preconditionFailure`, which ends the process. The message is the record's reason.
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

  /// The same with a message that is made at run time.
  ///
  /// It may contain values, which no record has. So it is used only where `off` and `observe` end the process.
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
