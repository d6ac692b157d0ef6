public import CrashShield
public import CrashShieldGuards

extension Shield {
  /// The reason why failing executor checks are not handled in this process; nil if they are.
  ///
  /// The hooks are tested when the program is loaded, the rest at the first fault or by this property: some
  /// microseconds, once. Where they do not work, every check behaves as without the module, and nothing is recorded.
  public static var executorChecksUnavailableReason: String? { Liveness.unavailable }
}

extension ShieldCheck {
  /// Executor checks, for `Shield.selfTest(including:)`.
  public static let executorChecks: [ShieldCheck] = [
    ShieldCheck("an implicit check of an actor elsewhere", .isolation) { line in
      passes(line) { Elsewhere().preconditionIsolated() }
    },
    ShieldCheck("an implicit assumption about an actor elsewhere", .isolation) { line in
      passes(line) { Elsewhere().assumeIsolated { _ in } }
    },
    ShieldCheck("an implicit check of an executor that knows", .isolation) { line in
      passes(line) { ElsewhereForCertain().preconditionIsolated() }
    },
  ]

  /// Skips the check where the hooks do not work: it would end the process.
  private static func passes(_ line: UInt, _ body: () -> Void) -> Bool {
    guard Liveness.unavailable == nil else { return false }
    ImplicitGuards.probe(line: line, body)
    return true
  }
}
