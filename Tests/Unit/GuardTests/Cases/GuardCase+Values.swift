// These cases contain faults on purpose, which guards must detect.
// swift-format-ignore-file: NeverForceUnwrap, NeverUseForceTry
import CrashShield
import CrashShieldGuards
import Glibc

extension GuardCase {
  static let values: [GuardCase] = [
    GuardCase("a value that is nil", .unwrap, plain: { use(opaque(Int?.none)!) }) {
      opaque(Int?.none).shielded(or: 7) == 7
    },
    GuardCase("a nil that throws", .unwrap, plain: { use(opaque(Int?.none)!) }) {
      throwsMissing { () throws(ShieldFault) in try opaque(Int?.none).shieldedUnwrap() }
    },
    GuardCase("a nil that stays nil", .unwrap, plain: { use(opaque(Int?.none)!) }) {
      opaque(Int?.none).shielded() == nil
    },
    GuardCase("a text cast to a number", .cast, SIGABRT, plain: { use(opaque("x" as Any) as! Int) }) {
      Shield.cast(opaque("x"), to: Int.self) == nil
    },
    GuardCase("a text with a number cast to Int", .cast, SIGABRT, plain: { use(opaque("42" as Any) as! Int) }) {
      Shield.cast(opaque("42"), to: Int.self) == 42
    },
    GuardCase("a number cast to a text", .cast, SIGABRT, plain: { use(opaque(42 as Any) as! String) }) {
      Shield.cast(opaque(42), to: String.self) == "42"
    },
    GuardCase("a Bool cast to a text", .cast, SIGABRT, plain: { use(opaque(true as Any) as! String) }) {
      Shield.cast(opaque(true), to: String.self) == "true"
    },
    GuardCase("a text with a small number cast to UInt8", .cast, SIGABRT, plain: { use(opaque("7" as Any) as! UInt8) })
    {
      Shield.cast(opaque("7"), to: UInt8.self) == 7
    },
    GuardCase(
      "a text with a too large number cast to UInt8", .cast, SIGABRT, plain: { use(opaque("256" as Any) as! UInt8) }
    ) {
      Shield.cast(opaque("256"), to: UInt8.self) == nil
    },
    GuardCase("a text with a fraction cast to Float", .cast, SIGABRT, plain: { use(opaque("3.5" as Any) as! Float) }) {
      Shield.cast(opaque("3.5"), to: Float.self) == 3.5
    },
    GuardCase("a text with a fraction cast to Int", .cast, SIGABRT, plain: { use(opaque("3.5" as Any) as! Int) }) {
      Shield.cast(opaque("3.5"), orDefault: Int.self) == 0
    },
    GuardCase("a nil cast to a number", .null, SIGABRT, plain: { use(opaque(Int?.none as Any) as! Int) }) {
      Shield.cast(opaque(Int?.none as Any?), to: Int.self) == nil
    },
    GuardCase("an unexpected error", .try, plain: { use(try! failing()) }) {
      (try? Shield.attempt(or: 5) { try failing() }) == 5
    },
    GuardCase("an error in code that does not throw", .try, plain: { use(try! failing()) }) {
      Shield.attempt(orAlways: 5) { try failing() } == 5
    },
    GuardCase("a cancellation in code that does not throw", .try, plain: { use(try! cancelled()) }) {
      Shield.attempt(orAlways: 5) { try cancelled() } == 5
    },
    GuardCase("a failed condition", .precondition, plain: { precondition(opaque(false)) }) {
      !Shield.check(opaque(false), "never")
    },
    GuardCase("an unreachable call", .precondition, plain: { preconditionFailure() }) {
      Shield.unreachable(or: 3) == 3
    },
    GuardCase("an overflowing sum", .arithmetic, plain: { use(opaque(Int.max) + 1) }) {
      opaque(Int.max).shieldedAdding(1) == .max
    },
    GuardCase("an overflowing difference", .arithmetic, plain: { use(opaque(UInt(0)) - 1) }) {
      opaque(UInt(0)).shieldedSubtracting(1) == 0
    },
    GuardCase("an overflowing product", .arithmetic, plain: { use(opaque(Int.max) * -2) }) {
      opaque(Int.max).shieldedMultiplied(by: -2) == .min
    },
    GuardCase("an overflowing sum, in place", .arithmetic, plain: { changed(.max) { $0 += opaque(1) } }) {
      changed(.max, to: .max) { $0.shieldedAdd(opaque(1)) }
    },
    GuardCase("an overflowing difference, in place", .arithmetic, plain: { changed(.min) { $0 -= opaque(1) } }) {
      changed(.min, to: .min) { $0.shieldedSubtract(opaque(1)) }
    },
    GuardCase("an overflowing product, in place", .arithmetic, plain: { changed(.min) { $0 *= opaque(2) } }) {
      changed(.min, to: .min) { $0.shieldedMultiply(by: opaque(2)) }
    },
    GuardCase("a division by zero, in place", .arithmetic, plain: { changed(1) { $0 /= opaque(0) } }) {
      changed(1, to: 7) { $0.shieldedDivide(by: opaque(0), or: 7) }
    },
    GuardCase("a division by zero", .arithmetic, plain: { use(opaque(1) / opaque(0)) }) {
      opaque(1).shieldedDivided(by: opaque(0), or: -1) == -1
    },
    GuardCase("a remainder of a division by zero", .arithmetic, plain: { use(opaque(1) % opaque(0)) }) {
      opaque(1).shieldedRemainder(dividingBy: opaque(0)) == 0
    },
    GuardCase("the negated smallest integer", .arithmetic, plain: { use(-opaque(Int.min)) }) {
      opaque(Int.min).shieldedNegated() == .max
    },
    GuardCase("the magnitude of the smallest integer", .arithmetic, plain: { use(abs(opaque(Int.min))) }) {
      opaque(Int.min).shieldedMagnitude() == .max
    },
    GuardCase("an overflowing sum of a sequence", .arithmetic, plain: { use([opaque(Int8(100)), 100].reduce(0, +)) }) {
      [opaque(Int8(100)), 100, 100].shieldedSum() == 127
    },
    GuardCase("a number that is too large", .conversion, plain: { use(UInt8(opaque(256))) }) {
      UInt8(shielded: opaque(256)) == 255
    },
    GuardCase("a negative number", .conversion, plain: { use(UInt(opaque(-1))) }) {
      UInt(shielded: opaque(-1)) == 0
    },
    GuardCase("a NaN", .conversion, plain: { use(Int(opaque(Double.nan))) }) {
      Int(shielded: opaque(Double.nan)) == 0
    },
    GuardCase("a floating-point number that is too large", .conversion, plain: { use(Int(opaque(1e300))) }) {
      Int(shielded: opaque(1e300)) == .max
    },
    GuardCase("a random choice from an empty range", .emptyRange, plain: { use(Int.random(in: opaque(1)..<opaque(1))) })
    {
      Int.shieldedRandom(in: opaque(1)..<opaque(1), or: 9) == 9
    },
    GuardCase("a stride of zero", .zeroStride, plain: { use(Array(stride(from: 0, to: 3, by: opaque(0)))) }) {
      Array(shieldedStride(from: 0, to: 3, by: opaque(0))).isEmpty
    },
    GuardCase("a deallocated object", .reference, SIGABRT, plain: { use(Neighbour().other) }) {
      gone().with(or: 4) { _ in 5 } == 4
    },
    GuardCase("a deallocated object, requested", .reference, SIGABRT, plain: { use(Neighbour().other) }) {
      gone().object() == nil
    },
    GuardCase("a second entry at a gate", .gate, nil, plain: {}) {
      let gate = ExclusiveGate()
      return gate.run { gate.run("inner") { 1 } } == .some(.none)
    },
    GuardCase("bytes past the end of a buffer", .memory, nil, plain: {}) {
      // Invariant: the buffer is valid during the closure, and the guard checks the offset.
      unsafe [1, 2, 3, 4].withUnsafeBytes { unsafe $0.shieldedLoad(fromByteOffset: opaque(25), as: Int.self) }
        == nil
    },
  ]

  private struct Failure: Error {}

  private static func failing() throws -> Int { throw Failure() }

  private static func cancelled() throws -> Int { throw CancellationError() }

  private static func changed(_ number: Int, _ change: (inout Int) -> Void) {
    var number = opaque(number)
    change(&number)
    use(number)
  }

  private static func changed(_ number: Int, to result: Int, _ change: (inout Int) -> Void) -> Bool {
    var number = opaque(number)
    change(&number)
    return number == result
  }

  private static func gone() -> ShieldedUnowned<Subject> { ShieldedUnowned(Subject()) }

  private static func throwsMissing(_ body: () throws(ShieldFault) -> Int) -> Bool {
    do {
      _ = try body()
      return false
    } catch {
      return error == .missing("Int")
    }
  }
}

private final class Subject: Sendable {}

/// Holds an unowned reference to a deallocated object.
private struct Neighbour {
  unowned let other: Subject

  init() {
    let other = opaque(Subject())
    self.other = other
  }
}
