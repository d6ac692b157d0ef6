public import CrashShield
public import CrashShieldGuards

extension Shield {
  /// The reason why failing executor checks are not handled in this process; nil if they are handled.
  ///
  /// When the program is loaded, a test checks this module's hooks in the Swift runtime. A second test checks whether
  /// call sites can be determined. It runs once, in some microseconds: at the first fault or when this property is
  /// read. If handling is unavailable, every check behaves as without this module, and nothing is recorded.
  public static var executorChecksUnavailableReason: String? { Liveness.unavailable }
}

extension ShieldCheck {
  /// The self-test checks for failing executor checks, for `Shield.selfTest(including:)`.
  public static let executorChecks: [ShieldCheck] = [
    ShieldCheck("implicit: preconditionIsolated on another executor", .isolation) { line in
      passes(line) { Elsewhere().preconditionIsolated() }
    },
    ShieldCheck("implicit: assumeIsolated on another executor", .isolation) { line in
      passes(line) { Elsewhere().assumeIsolated { _ in } }
    },
    ShieldCheck("implicit: preconditionIsolated for a custom executor", .isolation) { line in
      passes(line) { ElsewhereForCertain().preconditionIsolated() }
    },
  ]

  /// Skips the check if the hooks do not work, because the check would then end the process.
  private static func passes(_ line: UInt, _ body: () -> Void) -> Bool {
    guard Liveness.unavailable == nil else { return false }
    ImplicitGuards.probe(line: line, body)
    return true
  }
}
