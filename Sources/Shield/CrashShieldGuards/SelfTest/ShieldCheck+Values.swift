internal import CrashShield

extension ShieldCheck {
  static let values: [ShieldCheck] = [
    ShieldCheck("nil", .unwrap) { SelfTest.unknown(Int?.none).shielded(or: 7, line: $0) == 7 },
    ShieldCheck("a string where a number is expected", .cast) {
      Shield.cast(SelfTest.unknown("x"), to: Int.self, line: $0) == nil
    },
    ShieldCheck("a number in a string", .cast) { Shield.cast(SelfTest.unknown("42"), to: Int.self, line: $0) == 42 },
    ShieldCheck("a null where a number is expected", .null) {
      Shield.cast(SelfTest.unknown(Int?.none as Any?), orDefault: Int.self, line: $0) == 0
    },
    ShieldCheck("an error", .try) { line in
      try Shield.attempt(or: 5, line: line) { throw ShieldFault.leaked } == 5
    },
    ShieldCheck("a failed condition", .precondition) { !Shield.check(SelfTest.unknown(false), line: $0) },
    ShieldCheck("code that must not be reached", .precondition) { Shield.unreachable(or: 3, line: $0) == 3 },
    ShieldCheck("too large a sum", .arithmetic) { SelfTest.unknown(Int.max).shieldedAdding(1, line: $0) == .max },
    ShieldCheck("a division by zero", .arithmetic) {
      SelfTest.unknown(1).shieldedDivided(by: SelfTest.unknown(0), or: -1, line: $0) == -1
    },
    ShieldCheck("a number that is too large", .conversion) {
      UInt8(shielded: SelfTest.unknown(256), line: $0) == 255
    },
    ShieldCheck("not a number", .conversion) { Int(shielded: SelfTest.unknown(Double.nan), line: $0) == 0 },
    ShieldCheck("a random number of an empty range", .emptyRange) {
      Int.shieldedRandom(in: SelfTest.unknown(1)..<1, or: 9, line: $0) == 9
    },
    ShieldCheck("a stride with a step of zero", .zeroStride) {
      Array(shieldedStride(from: 0, to: 3, by: SelfTest.unknown(0), line: $0)).isEmpty
    },
  ]
}
