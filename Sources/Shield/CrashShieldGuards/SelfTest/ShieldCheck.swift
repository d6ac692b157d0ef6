/// One fault, and what a guard must make of it: what `Shield.selfTest` asks.
///
/// Those of `CrashShieldFoundation` are `ShieldCheck.foundation`; a program may have some for guards of its own.
public struct ShieldCheck: Sendable {
  package enum Body: Sendable {
    case plain(@Sendable (UInt) throws -> Bool)
    case suspending(@Sendable (UInt) async throws -> Bool)
    case onMainActor(@MainActor @Sendable (UInt) -> Bool)
  }

  /// What is done.
  public var name: String
  /// The kind of fault that the guard must record, once.
  public var kind: ShieldKind
  let body: Body

  /// Makes a check.
  ///
  /// - Parameters:
  ///   - name: What is done.
  ///   - kind: The kind of fault that the guard must record, once.
  ///   - body: Has the guard meet the fault at the line that it is given, which tells the self-test's faults from the program's;
  ///     returns whether the value is the documented one.
  public init(_ name: String, _ kind: ShieldKind, _ body: @escaping @Sendable (_ line: UInt) throws -> Bool) {
    self.init(name, kind, .plain(body))
  }

  package init(_ name: String, _ kind: ShieldKind, _ body: Body) {
    self.name = name
    self.kind = kind
    self.body = body
  }

  /// Those of this module.
  static let own = collections + values + services

  /// What came of one check.
  public struct Result: Sendable, Hashable {
    /// The kind of fault.
    public var kind: ShieldKind
    /// What was done; empty where nothing was.
    public var check: String
    /// What came of it.
    public var verdict: Verdict

    package init(kind: ShieldKind, check: String, verdict: Verdict) {
      self.kind = kind
      self.check = check
      self.verdict = verdict
    }
  }

  /// Whether a guard does what it promises.
  public enum Verdict: Sendable, Hashable {
    /// It gave the documented value and recorded the fault, once.
    case absorbs
    /// It did not, and how.
    case fails(String)
    /// It was not asked, and why.
    case notAsked(String)
  }
}
