internal import Synchronization

/// A continuation that may be resumed at any time, more than once, or never.
public struct ShieldedContinuation<Value: Sendable>: Sendable {
  private let box: ContinuationBox<Value>

  fileprivate init(_ box: ContinuationBox<Value>) { self.box = box }

  /// Resumes the task that waits, with a value.
  ///
  /// - Returns: False when it had been resumed before, which is recorded as `continuation`.
  @discardableResult
  public func resume(
    returning value: Value, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    box.resume(.success(value), ShieldSite(fileID: fileID, line: line))
  }

  /// Resumes the task that waits, with an error.
  ///
  /// - Returns: False when it had been resumed before, which is recorded as `continuation`.
  @discardableResult
  public func resume(
    throwing error: any Error, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    box.resume(.failure(error), ShieldSite(fileID: fileID, line: line))
  }
}

extension ShieldedContinuation where Value == Void {
  /// Resumes the task that waits.
  ///
  /// - Returns: False when it had been resumed before, which is recorded as `continuation`.
  @discardableResult
  public func resume(fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
    resume(returning: (), fileID: fileID, line: line)
  }
}

/// Waits until the continuation that the body gets is resumed.
///
/// In place of `withCheckedThrowingContinuation`, whose second resumption ends the process and whose loss hangs the task. Here
/// a second one is ignored, and when the last copy of the continuation goes without one, the task gets
/// `ShieldFault.leaked`; both are recorded as `continuation`. With `off` and `observe` a second resumption ends the process as Swift's
/// does, and a lost one hangs.
///
/// Cancellation does not resume it; that is the body's.
public func withShieldedContinuation<Value: Sendable>(
  of type: Value.Type = Value.self, isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID,
  line: UInt = #line, _ body: (ShieldedContinuation<Value>) -> Void
) async throws -> Value {
  try await withCheckedThrowingContinuation(isolation: isolation) { continuation in
    let site = ShieldSite(fileID: fileID, line: line)
    body(ShieldedContinuation(ContinuationBox(continuation, site)))
  }
}

private final class ContinuationBox<Value: Sendable>: Sendable {
  private let continuation: CheckedContinuation<Value, any Error>
  private let isResumed = Atomic<Bool>(false)
  private let site: ShieldSite

  init(_ continuation: CheckedContinuation<Value, any Error>, _ site: ShieldSite) {
    self.continuation = continuation
    self.site = site
  }

  deinit {
    if isResumed.load(ordering: .acquiring) { return }
    let isAbsorbed = Shield.absorbs(.continuation, at: site) { "a continuation of \(Value.self) was never resumed" }
    if isAbsorbed { continuation.resume(throwing: ShieldFault.leaked) }
  }

  func resume(_ result: Result<Value, any Error>, _ site: ShieldSite) -> Bool {
    if isResumed.exchange(true, ordering: .acquiringAndReleasing) {
      let isAbsorbed = Shield.absorbs(.continuation, at: site) {
        "a continuation of \(Value.self) was resumed more than once"
      }
      if isAbsorbed { return false }
    }
    continuation.resume(with: result)
    return true
  }
}
