internal import CrashShield

extension Actor {
  /// Runs the body at once if the current executor is the actor's; otherwise returns nil and records the fault as
  /// `isolation`.
  ///
  /// Replaces `assumeIsolated`, which ends the process if the executor is not the actor's. Use this function in
  /// callbacks that are documented to run on the actor's executor. If a callback runs elsewhere, the caller receives
  /// nil and can continue with `Task { await … }`.
  ///
  /// ```swift
  /// func callback() { shieldedAssumeIsolated { $0.count += 1 } }
  /// ```
  ///
  /// In two cases, this function cannot identify the executor, and then behaves like `assumeIsolated`. In the first
  /// case, code runs outside of a task on a custom executor that does not implement `isIsolatingCurrentContext`. In the
  /// second case, the Swift runtime does not report executors as expected; `Shield.selfTest` detects this case. Under
  /// `off` and `observe`, the function also behaves like `assumeIsolated`. May be called from any thread; takes some
  /// ten nanoseconds.
  @available(*, noasync, message: "write a function of the actor, and await it")
  @inlinable
  @discardableResult
  public nonisolated func shieldedAssumeIsolated<Result: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line, _ body: (isolated Self) throws -> Result
  ) rethrows -> Result? {
    if Executors.isElsewhere(self), handleIsolationFault(Self.self, fileID, line) { return nil }
    return try assumeIsolated(body, file: fileID, line: line)
  }
}

@inline(never)
@usableFromInline
func handleIsolationFault<Place: Actor>(_: Place.Type, _ fileID: StaticString, _ line: UInt) -> Bool {
  Shield.handleFault(.isolation, at: ShieldSite(fileID: fileID, line: line)) {
    "work of a \(Place.self) on another executor"
  }
}
