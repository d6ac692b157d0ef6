internal import CrashShield
internal import CShim
internal import Synchronization

/// Admits one caller at a time, and returns nil to the others at once.
///
/// Use a gate for work that must not start again while it is running. A second caller receives nil without waiting, and
/// a fault of kind `gate` is recorded. A call from inside the body also counts as a second call. May be called from any
/// thread.
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
    // Invariant: `hold` suspends containment of the task's work, on any thread, and is valid until
    // `cs_shim_contained_let_go` releases it.
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
