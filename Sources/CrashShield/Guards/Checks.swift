extension Shield {
  /// What the function returns, or `value` where it throws; the error's type is recorded as `try`.
  ///
  /// In place of `try!`, which ends the process. `CancellationError` is thrown on: it is no fault.
  @inlinable
  public static func attempt<Result, Failure: Error>(
    or value: @autoclosure () -> Result, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: () throws(Failure) -> Result
  ) throws(CancellationError) -> Result {
    do {
      return try body()
    } catch {
      if let cancellation = error as? CancellationError { throw cancellation }
      // The trap of the plain operation is what is asked for.
      // swift-format-ignore: NeverUseForceTry
      guard absorbsError(Failure.self, error, fileID, line) else { return try! rethrown(error) }
      return value()
    }
  }

  /// Whether the condition holds; that it does not is recorded as `precondition`.
  ///
  /// In place of `precondition`, which ends the process; the caller decides what to do instead. `off` and `observe`: as
  /// `precondition`. `fatalError` has no such form: what follows it was never meant to run.
  @inlinable
  public static func check(
    _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String = "", fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> Bool {
    if condition() { return true }
    let text = message()
    guard Shield.absorbs(.precondition, at: ShieldSite(fileID: fileID, line: line), { text }) else {
      preconditionFailure(text)
    }
    return false
  }

  /// A place that is never reached; that it was is recorded as `precondition`, and `value` is returned.
  ///
  /// In place of `preconditionFailure`, which ends the process.
  @inlinable
  public static func unreachable<Value>(
    or value: @autoclosure () -> Value, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Value {
    guard absorbs(.precondition, at: ShieldSite(fileID: fileID, line: line), { "reached" }) else {
      preconditionFailure()
    }
    return value()
  }

  @usableFromInline
  static func rethrown<Result>(_ error: any Error) throws -> Result { throw error }

  @inline(never)
  @usableFromInline
  static func absorbsError<Failure>(
    _: Failure.Type, _ error: any Error, _ fileID: StaticString, _ line: UInt
  ) -> Bool {
    absorbs(.try, at: ShieldSite(fileID: fileID, line: line)) { "a \(type(of: error)) was thrown" }
  }
}
