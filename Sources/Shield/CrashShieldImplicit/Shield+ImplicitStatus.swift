public import CrashShield
public import CrashShieldGuards

extension Shield {
  /// The reason why `CrashShieldImplicit` protects nothing in this process; nil if it protects.
  ///
  /// Checked at the first fault, or by this property: some microseconds, once. Where it does not work, every operation
  /// is the standard library's, and nothing is recorded.
  public static var implicitUnavailableReason: String? { Liveness.unavailable }
}

extension ShieldCheck {
  /// Checks of the protections that need no change of a call, for `Shield.selfTest(including:)`.
  public static let implicit: [ShieldCheck] = [
    ShieldCheck("an implicit element behind the end", .index) { line in
      ImplicitGuards.probe(line: line) { unknown([1, 2, 3])[unknown(3)] == 0 }
    },
    ShieldCheck("an implicit element written behind the end", .mutation) { line in
      ImplicitGuards.probe(line: line) {
        var list = unknown([1, 2, 3])
        list[unknown(3)] = 7
        return list == [1, 2, 3]
      }
    },
    ShieldCheck("an implicit list in a list changed", .mutation) { line in
      ImplicitGuards.probe(line: line) {
        var list = unknown([[1], [2]])
        list[unknown(2)].append(3)
        return list == [[1], [2]]
      }
    },
    ShieldCheck("an implicit range over the end", .range) { line in
      ImplicitGuards.probe(line: line) { Array(unknown([1, 2, 3])[unknown(1)..<9]) == [2, 3] }
    },
    ShieldCheck("an implicit character behind the end", .stringIndex) { line in
      ImplicitGuards.probe(line: line) {
        let text = unknown("abc")
        return text[text.endIndex] == "\u{FFFD}"
      }
    },
    ShieldCheck("an implicit sum too large", .arithmetic) { line in
      ImplicitGuards.probe(line: line) { unknown(Int.max) + 1 == .max }
    },
    ShieldCheck("an implicit division by zero", .arithmetic) { line in
      ImplicitGuards.probe(line: line) { unknown(1) / unknown(0) == 0 }
    },
    ShieldCheck("an implicit condition that does not hold", .precondition) { line in
      ImplicitGuards.probe(line: line) {
        precondition(unknown(false))
        return true
      }
    },
  ]
}
