public import CrashShield
public import Synchronization

/// A continuation that the program can resume more than once, or never.
public struct ShieldedContinuation<Value: Sendable>: Sendable {
  @usableFromInline let box: ContinuationBox<Value>

  @inlinable
  init(_ box: ContinuationBox<Value>) { self.box = box }

  /// Resumes the waiting task with a value.
  ///
  /// - Returns: False if the continuation was already resumed. The call then only records the kind `continuation`.
  @inlinable
  @discardableResult
  public func resume(
    returning value: Value, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    box.resume(.success(value), ShieldSite(fileID: fileID, line: line))
  }

  /// Resumes the waiting task with an error.
  ///
  /// - Returns: False if the continuation was already resumed. The call then only records the kind `continuation`.
  @inlinable
  @discardableResult
  public func resume(
    throwing error: any Error, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    box.resume(.failure(error), ShieldSite(fileID: fileID, line: line))
  }
}

extension ShieldedContinuation where Value == Void {
  /// Resumes the waiting task.
  ///
  /// - Returns: False if the continuation was already resumed. The call then only records the kind `continuation`.
  @inlinable
  @discardableResult
  public func resume(fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
    resume(returning: (), fileID: fileID, line: line)
  }
}

/// Suspends the task until the body's continuation is resumed.
///
/// Replaces `withCheckedThrowingContinuation`, which ends the process at a second resumption, and hangs the task if the
/// continuation is leaked. This function ignores a second resumption. If the last copy of the continuation is released
/// without a resumption, the task receives `ShieldFault.leaked`. Both faults are recorded as `continuation`. Under
/// `off` and `observe`, a second resumption ends the process and a leaked continuation hangs the task, as in plain
/// Swift.
///
/// Cancelling the task does not resume the continuation; the body has to handle cancellation.
@inlinable
public func withShieldedContinuation<Value: Sendable>(
  of type: Value.Type = Value.self, isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID,
  line: UInt = #line, _ body: (ShieldedContinuation<Value>) -> Void
) async throws -> Value {
  try await withCheckedThrowingContinuation(isolation: isolation) { continuation in
    let site = ShieldSite(fileID: fileID, line: line)
    body(ShieldedContinuation(ContinuationBox(continuation, site)))
  }
}

@usableFromInline
final class ContinuationBox<Value: Sendable>: Sendable {
  @usableFromInline let continuation: CheckedContinuation<Value, any Error>
  @usableFromInline let isResumed = Atomic<Bool>(false)
  @usableFromInline let site: ShieldSite

  @inlinable
  init(_ continuation: CheckedContinuation<Value, any Error>, _ site: ShieldSite) {
    self.continuation = continuation
    self.site = site
  }

  @inlinable
  deinit {
    if isResumed.load(ordering: .acquiring) { return }
    if handleLostContinuation(Value.self, site) { continuation.resume(throwing: ShieldFault.leaked) }
  }

  @inlinable
  func resume(_ result: Result<Value, any Error>, _ site: ShieldSite) -> Bool {
    let isFirst = !isResumed.exchange(true, ordering: .acquiringAndReleasing)
    if !isFirst && handleSecondResumption(Value.self, site) { return false }
    continuation.resume(with: result)
    return true
  }
}

@inline(never)
@usableFromInline
func handleLostContinuation<Value>(_: Value.Type, _ site: ShieldSite) -> Bool {
  Shield.handleFault(.continuation, at: site) { "a continuation of \(Value.self) was never resumed" }
}

@inline(never)
@usableFromInline
func handleSecondResumption<Value>(_: Value.Type, _ site: ShieldSite) -> Bool {
  Shield.handleFault(.continuation, at: site) { "a continuation of \(Value.self) was resumed more than once" }
}
