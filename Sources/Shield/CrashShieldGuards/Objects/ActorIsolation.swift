internal import CrashShield

extension Actor {
  /// What the body makes of the actor, at once, where its executor is what runs; nil elsewhere, which is recorded as `isolation`.
  ///
  /// In place of `assumeIsolated`, which ends the process elsewhere. For callbacks that are documented to come on the
  /// actor's executor: where they do not, the caller has nil and can go on by `Task { await … }`.
  ///
  /// ```swift
  /// func callback() { shieldedAssumeIsolated { $0.count += 1 } }
  /// ```
  ///
  /// Where nobody can tell whether the executor is the actor's, it is as `assumeIsolated`: under a custom executor, outside of a task,
  /// that does not implement `isIsolatingCurrentContext`, and on a Swift runtime that does not answer as expected
  /// (`Shield.selfTest` says so). `off` and `observe`: as `assumeIsolated`. Any thread; some ten nanoseconds.
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
