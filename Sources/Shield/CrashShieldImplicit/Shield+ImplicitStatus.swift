public import CrashShield
public import CrashShieldGuards

extension Shield {
  /// The reason why the protections of `CrashShieldImplicit` are off in this process; nil if they are on.
  ///
  /// The check runs once, at the first fault or when this property is read, and takes some microseconds. If protection
  /// is unavailable, every operation behaves like the standard library's, and nothing is recorded.
  public static var implicitUnavailableReason: String? { Liveness.unavailable }
}

extension ShieldCheck {
  /// Checks of the protections of `CrashShieldImplicit`, for `Shield.selfTest(including:)`.
  public static let implicit: [ShieldCheck] = [
    ShieldCheck("implicit: reading an element past the end", .index) { line in
      ImplicitGuards.probe(line: line) { unknown([1, 2, 3])[unknown(3)] == 0 }
    },
    ShieldCheck("implicit: writing an element past the end", .mutation) { line in
      ImplicitGuards.probe(line: line) {
        var list = unknown([1, 2, 3])
        list[unknown(3)] = 7
        return list == [1, 2, 3]
      }
    },
    ShieldCheck("implicit: changing an array in an array past the end", .mutation) { line in
      ImplicitGuards.probe(line: line) {
        var list = unknown([[1], [2]])
        list[unknown(2)].append(3)
        return list == [[1], [2]]
      }
    },
    ShieldCheck("implicit: a range that extends past the end", .range) { line in
      ImplicitGuards.probe(line: line) { Array(unknown([1, 2, 3])[unknown(1)..<9]) == [2, 3] }
    },
    ShieldCheck("implicit: a character past the end", .stringIndex) { line in
      ImplicitGuards.probe(line: line) {
        let text = unknown("abc")
        return text[text.endIndex] == "\u{FFFD}"
      }
    },
    ShieldCheck("implicit: a sum that is too large", .arithmetic) { line in
      ImplicitGuards.probe(line: line) { unknown(Int.max) + 1 == .max }
    },
    ShieldCheck("implicit: a division by zero", .arithmetic) { line in
      ImplicitGuards.probe(line: line) { unknown(1) / unknown(0) == 0 }
    },
    ShieldCheck("implicit: a failed precondition", .precondition) { line in
      ImplicitGuards.probe(line: line) {
        precondition(unknown(false))
        return true
      }
    },
  ]
}
