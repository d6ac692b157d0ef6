internal import CrashShield
internal import CShim
internal import Synchronization

/// Lets one caller at a time in, and refuses the others at once.
///
/// For work that must not begin again while it runs: a second caller gets nil, which is recorded as `gate`. It never
/// waits. A call from within the body is a second one. Any thread.
public final class ExclusiveGate: Sendable {
  private let isTaken = Atomic<Bool>(false)

  /// Creates an open gate.
  public init() {}

  /// Runs the body and returns its result; nil while another caller is inside.
  public func run<Result, Failure: Error>(
    _ name: StaticString = "", fileID: StaticString = #fileID, line: UInt = #line,
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard enters(name, ShieldSite(fileID: fileID, line: line)) else { return nil }
    defer { isTaken.store(false, ordering: .releasing) }
    return try holding(body)
  }

  /// Runs an async body and returns its result; nil while another caller is inside.
  public func run<Result: Sendable, Failure: Error>(
    _ name: StaticString = "", isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID,
    line: UInt = #line, _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result? {
    guard enters(name, ShieldSite(fileID: fileID, line: line)) else { return nil }
    defer { isTaken.store(false, ordering: .releasing) }
    // Suspends containment of the task's work, on whatever thread it runs, until the end.
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
