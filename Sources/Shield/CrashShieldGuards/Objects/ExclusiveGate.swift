internal import CrashShield
internal import CShim
internal import Synchronization

/// Lets one at a time in, and tells the others so at once.
///
/// For what must not be begun again while it goes on: a second one gets nil, which is recorded as `gate`. There is no waiting.
/// A call from within the body is a second one. Any thread.
public final class ExclusiveGate: Sendable {
  private let isTaken = Atomic<Bool>(false)

  /// A gate that is open.
  public init() {}

  /// What the body returns; nil where somebody else is inside.
  public func run<Result, Failure: Error>(
    _ name: StaticString = "", fileID: StaticString = #fileID, line: UInt = #line,
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard enters(name, ShieldSite(fileID: fileID, line: line)) else { return nil }
    defer { isTaken.store(false, ordering: .releasing) }
    return try holding(body)
  }

  /// The same across suspensions.
  public func run<Result: Sendable, Failure: Error>(
    _ name: StaticString = "", isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID,
    line: UInt = #line, _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result? {
    guard enters(name, ShieldSite(fileID: fileID, line: line)) else { return nil }
    defer { isTaken.store(false, ordering: .releasing) }
    // Of the task's work, on whatever thread that is now, and at the end.
    let hold = unsafe IsolatedWork.hold()
    defer { unsafe cs_shim_contained_let_go(hold) }
    return try await body()
  }

  private func enters(_ name: StaticString, _ site: ShieldSite) -> Bool {
    let (isEntered, _) = isTaken.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing)
    if !isEntered { Shield.recordFault(.gate, at: site) { "\(name) while another is inside" } }
    return isEntered
  }
}
