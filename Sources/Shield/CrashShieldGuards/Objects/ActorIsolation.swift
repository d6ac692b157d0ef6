internal import CrashShield

extension Actor {
  /// Runs the body on the actor at once if the current executor is the actor's; else returns nil, which is recorded as
  /// `isolation`.
  ///
  /// In place of `assumeIsolated`, which ends the process elsewhere. For callbacks that are documented to come on the
  /// actor's executor: if one does not, the caller gets nil and can continue with `Task { await … }`.
  ///
  /// ```swift
  /// func callback() { shieldedAssumeIsolated { $0.count += 1 } }
  /// ```
  ///
  /// Behaves as `assumeIsolated` where the executor cannot be identified: outside of a task under a custom executor
  /// that does not implement `isIsolatingCurrentContext`, and on a Swift runtime that does not answer as expected
  /// (`Shield.selfTest` reports that). `off` and `observe`: as `assumeIsolated`. Any thread; some ten nanoseconds.
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
