// swift-format-ignore-file: NeverForceUnwrap
public import CrashShield
public import CrashShieldGuards

extension Shield {
  /// The reason why failing forced casts of this program are not handled; nil if they are.
  ///
  /// They are not where the Swift runtime is part of the program (`-static-stdlib`), or where the hook does not see
  /// casts as expected. The first failing cast checks that, or this property: some microseconds, once; any thread.
  /// Without the hook the runtime handles every cast, and nothing is recorded.
  public static var castsUnavailableReason: String? { Liveness.unavailable }
}

extension ShieldCheck {
  /// Checks of forced casts that fail, for `Shield.selfTest(including:)`.
  public static let casts: [ShieldCheck] = [
    ShieldCheck("a forced cast of a text to a number", .cast) { line in
      isGiven(line) { unknown("42" as Any) as! Int == 42 }
    },
    ShieldCheck("a forced cast of a number to a text", .cast) { line in
      isGiven(line) { unknown(42 as Any) as! String == "42" }
    },
    ShieldCheck("a forced cast of nothing to a number", .null) { line in
      isGiven(line) { unknown(Int?.none as Any) as! Int == 0 }
    },
    ShieldCheck("a forced cast of nothing to a list", .null) { line in
      isGiven(line) { unknown(Int?.none as Any) as! [String] == [] }
    },
  ]

  // Without the hook the casts would end the process.
  private static func isGiven(_ line: UInt, _ body: () -> Bool) -> Bool {
    Liveness.unavailable == nil && Liveness.test(line: line, body)
  }
}
