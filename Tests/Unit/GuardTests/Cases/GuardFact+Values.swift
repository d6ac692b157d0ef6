import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation
import Synchronization

extension GuardFact {
  static let values: [GuardFact] = [
    GuardFact("a default is not evaluated if it is not needed") {
      opaque(Int?.some(3)).shielded(or: never()) == 3 && three[shielded: opaque(0), default: never()] == 1
    },
    GuardFact("an optional in an optional is a value", faults: 1) {
      opaque(Int??.some(nil)).shielded(or: 7) == nil && opaque(Int??.none).shielded(or: 7) == 7
    },
    GuardFact("texts that are not numbers", faults: 4) {
      Shield.cast(opaque(" 42"), to: Int.self) == nil && Shield.cast(opaque("3.5"), to: Int.self) == nil
        && Shield.cast(opaque(""), to: Int.self) == nil && Shield.cast(opaque(3.5), to: Int.self) == nil
    },
    GuardFact("the largest and the smallest number as text, and the next ones", faults: 4) {
      Shield.cast(opaque("9223372036854775807"), to: Int64.self) == .max
        && Shield.cast(opaque("-9223372036854775808"), to: Int64.self) == .min
        && Shield.cast(opaque("9223372036854775808"), to: Int64.self) == nil
        && Shield.cast(opaque(Int64.min), to: String.self) == "-9223372036854775808"
    },
    GuardFact("a key path of another root", faults: 1) {
      let path: AnyKeyPath = opaque(\Box.count)
      return Shield.cast(path, to: KeyPath<Box, Int>.self) != nil
        && Shield.cast(path, to: KeyPath<String, Int>.self) == nil
    },
    GuardFact("all pairs of 8-bit numbers", faults: Pairs.faults) { Pairs.areRight },
    GuardFact("fractions without an exact integer of the type", faults: 6) {
      Int(shielded: opaque(Double.infinity)) == .max && Int(shielded: opaque(-Double.infinity)) == .min
        && Int(shielded: opaque(0x1p63)) == .max && UInt8(shielded: opaque(Float16(300))) == 255
        && UInt(shielded: opaque(-1.5)) == 0 && Int8(shielded: opaque(Float.nan)) == 0
    },
    GuardFact("a truncated fraction is no fault") {
      Int(shielded: opaque(3.9)) == 3 && UInt(shielded: opaque(-0.5)) == 0 && Int(shielded: opaque(-3.9)) == -3
        && Int(shielded: opaque(Float16(3.9))) == 3 && Int(shielded: Decimal(string: "-3.9") ?? 0) == -3
        && UInt64(shielded: Decimal(UInt64.max)) == .max
    },
    GuardFact("decimals outside a type's range", faults: 3) {
      Int(shielded: Decimal.nan) == 0 && Int64(shielded: Decimal(string: "-1e30") ?? 0) == .min
        && UInt8(shielded: Decimal(string: "256") ?? 0) == 255
    },
    GuardFact("a cancellation is rethrown, and is no fault") {
      do {
        _ = try Shield.attempt(or: 5) { throw CancellationError() }
        return false
      } catch {
        return true
      }
    },
    GuardFact("an error's type is recorded, but not its message", faults: 1) {
      let value = try Shield.attempt(or: 5) { () throws -> Int in throw ShieldFault.refused("secret") }
      return value == 5 && Shield.guardIncidents.map(\.reason) == ["a ShieldFault was thrown"]
    },
    GuardFact("a message with values is only built for a trap", faults: 1) {
      let made = Counted()
      let holds = Shield.check(opaque(true), onTrap: "\(made.next())")
      return holds && !Shield.check(opaque(false), onTrap: "\(made.next())") && made.count == 0
    },
    GuardFact("a Character from several characters", faults: 2) {
      Character(shielded: opaque("ab"), or: "?") == "?" && Character(shielded: opaque(""), or: "?") == "?"
        && Character(shielded: opaque("é"), or: "?") == "é" && Character(shielded: opaque("e\u{301}"), or: "?") == "é"
    },
    GuardFact("the object is kept while the body runs, even if its last owner releases it") {
      let holder = Holder()
      let reference = holder.reference()
      return reference.with(or: false) { object in
        let gone = DispatchSemaphore(value: 0)
        Thread {
          holder.letGo()
          gone.signal()
        }.start()
        gone.wait()
        return object.isThere
      }
    },
    GuardFact("a number without a handle, an address, and nil", faults: 3) {
      // Invariant: the pointers are only compared as numbers, and no memory is read.
      let foreign = unsafe UnsafeMutableRawPointer(bitPattern: 0x5C5A_0000_0000_FFFF)
      return unsafe three.withUnsafeBytes { bytes in
        unsafe ShieldHandle.resolve(foreign, as: Holder.self) == nil
          && ShieldHandle.resolve(UnsafeMutableRawPointer(mutating: bytes.baseAddress), as: Holder.self) == nil
          && ShieldHandle.resolve(nil, as: Holder.self) == nil
      }
    },
  ]

  private static func never<Value>() -> Value { complain("evaluated") }
}

private struct Box {
  var count = 0
}

/// Compares guarded sums, differences and products of all pairs of 8-bit numbers with the results in a wider type.
private enum Pairs {
  private static func each(_ body: (Int8, Int8) -> Bool) -> Bool {
    for a in Int8.min...Int8.max {
      for b in Int8.min...Int8.max where !body(a, b) { return false }
    }
    return true
  }

  static var areRight: Bool {
    each { a, b in
      let (x, y) = (Int(a), Int(b))
      return a.shieldedAdding(b) == Int8(clamping: x + y) && a.shieldedSubtracting(b) == Int8(clamping: x - y)
        && a.shieldedMultiplied(by: b) == Int8(clamping: x * y)
        && a.shieldedDivided(by: b, or: 3) == (y == 0 ? 3 : Int8(clamping: x / y))
    }
  }

  static let faults: Int = {
    var count = 0
    _ = each { a, b in
      let (x, y) = (Int(a), Int(b))
      for result in [x + y, x - y, x * y, y == 0 ? 999 : x / y] where Int8(exactly: result) == nil { count += 1 }
      return true
    }
    return count
  }()
}

private final class Counted: Sendable {
  private let value = Atomic<Int>(0)
  var count: Int { value.load(ordering: .acquiring) }
  func next() -> Int { value.add(1, ordering: .acquiringAndReleasing).newValue }
}

private final class Holder: Sendable {
  final class Held: Sendable {
    var isThere: Bool { true }
  }

  private let object = Mutex<Held?>(Held())

  func reference() -> ShieldedUnowned<Held> { ShieldedUnowned(object.withLock { $0 } ?? Held()) }
  func letGo() { object.withLock { $0 = nil } }
}
