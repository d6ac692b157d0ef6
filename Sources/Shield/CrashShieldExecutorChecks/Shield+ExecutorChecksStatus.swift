public import CrashShield
public import CrashShieldGuards

extension Shield {
  /// Why what `CrashShieldExecutorChecks` watches is not watched in this process; nil: it is.
  ///
  /// The runtime's hooks are tried when the program is loaded, and the rest at the first fault, or here: some microseconds, once.
  /// Where it does not work, every check is as without the module, and nothing is recorded.
  public static var executorChecksUnavailableReason: String? { Liveness.unavailable }
}

extension ShieldCheck {
  /// Checks of what `CrashShieldExecutorChecks` watches, for `Shield.selfTest(including:)`.
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

  /// Where the hooks do not work the check is not made: it would end the process.
  private static func passes(_ line: UInt, _ body: () -> Void) -> Bool {
    guard Liveness.unavailable == nil else { return false }
    ImplicitGuards.probe(line: line, body)
    return true
  }
}
