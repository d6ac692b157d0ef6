// swift-format-ignore-file: NeverForceUnwrap
public import CrashShield
public import CrashShieldGuards

extension Shield {
  /// Why nothing is done about this program's forced casts that fail; nil: it is.
  ///
  /// So it is where the Swift runtime is a part of the program (`-static-stdlib`), and where a cast does not come by, or not as
  /// expected. It is tried out at the first cast that fails, or here: some microseconds, once; any thread. Where it does not work
  /// every cast is the runtime's, and nothing is recorded.
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

  // Where it does not work they would end the process.
  private static func isGiven(_ line: UInt, _ body: () -> Bool) -> Bool {
    Liveness.unavailable == nil && Liveness.test(line: line, body)
  }
}
