// swift-format-ignore-file: NeverForceUnwrap
public import CrashShield
public import CrashShieldGuards

extension Shield {
  /// The reason why failing forced casts of this program are not handled; nil if they are handled.
  ///
  /// Failing casts are not handled if the Swift runtime is part of the program (`-static-stdlib`), or if this module's
  /// hook, which replaces the runtime's cast function, does not receive casts as expected. The first failing cast or
  /// the first read of this property checks both conditions once, in some microseconds. May be read from any thread. If
  /// the casts are not handled, the runtime ends the process at a failing cast, and no incident is recorded.
  public static var castsUnavailableReason: String? { Liveness.unavailable }
}

extension ShieldCheck {
  /// The self-test checks for failing forced casts, for `Shield.selfTest(including:)`.
  public static let casts: [ShieldCheck] = [
    ShieldCheck("a forced cast of a string to a number", .cast) { line in
      isGiven(line) { unknown("42" as Any) as! Int == 42 }
    },
    ShieldCheck("a forced cast of a number to a string", .cast) { line in
      isGiven(line) { unknown(42 as Any) as! String == "42" }
    },
    ShieldCheck("a forced cast of nil to a number", .null) { line in
      isGiven(line) { unknown(Int?.none as Any) as! Int == 0 }
    },
    ShieldCheck("a forced cast of nil to an array", .null) { line in
      isGiven(line) { unknown(Int?.none as Any) as! [String] == [] }
    },
  ]

  // Check `Liveness` first: without the hook, the casts would end the process.
  private static func isGiven(_ line: UInt, _ body: () -> Bool) -> Bool {
    Liveness.unavailable == nil && Liveness.test(line: line, body)
  }
}
