/// A check of `Shield.selfTest`: one fault, and the expected reaction of a guard.
///
/// `ShieldCheck.foundation` has the checks of `CrashShieldFoundation`. A program can add checks for guards of its own.
public struct ShieldCheck: Sendable {
  package enum Body: Sendable {
    case plain(@Sendable (UInt) throws -> Bool)
    case suspending(@Sendable (UInt) async throws -> Bool)
    case onMainActor(@MainActor @Sendable (UInt) -> Bool)
  }

  /// The operation that the check performs.
  public var name: String
  /// The kind of fault that the guard must record exactly once.
  public var kind: ShieldKind
  let body: Body

  /// Creates a check.
  ///
  /// - Parameters:
  ///   - name: The operation that the check performs.
  ///   - kind: The kind of fault that the guard must record exactly once.
  ///   - body: Calls a guard with the given line number so that the fault occurs, and returns whether the guard
  ///     returned the documented value. The line number distinguishes self-test faults from the program's faults.
  public init(_ name: String, _ kind: ShieldKind, _ body: @escaping @Sendable (_ line: UInt) throws -> Bool) {
    self.init(name, kind, .plain(body))
  }

  package init(_ name: String, _ kind: ShieldKind, _ body: Body) {
    self.name = name
    self.kind = kind
    self.body = body
  }

  /// The checks of this module.
  static let own = collections + values + services

  /// The result of one check.
  public struct Result: Sendable, Hashable {
    /// The kind of fault.
    public var kind: ShieldKind
    /// The name of the check; empty if the kind has no check.
    public var check: String
    /// Whether the guard passed the check.
    public var verdict: Verdict

    package init(kind: ShieldKind, check: String, verdict: Verdict) {
      self.kind = kind
      self.check = check
      self.verdict = verdict
    }
  }

  /// Whether a guard works as documented.
  public enum Verdict: Sendable, Hashable {
    /// The guard returned the documented value and recorded the fault once.
    case absorbs
    /// The guard failed, for the given reason.
    case fails(String)
    /// The check did not run, for the given reason.
    case notAsked(String)
  }
}
