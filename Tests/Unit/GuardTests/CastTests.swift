import CrashShield
import CrashShieldGuards
import Glibc
import Testing

/// Tests that the overload for optionals and the overload for other values of a cast give the same results.
@Suite("Casts of values and of optionals")
struct CastTests {
  private class Animal {}
  private final class Cat: Animal {}

  /// Returns the casts whose result for a value differs from the result for an optional that contains this value.
  private static func differences(_ value: Any) -> [String] {
    let optional: Any? = value
    let isSame = [
      "Int": Shield.cast(value, to: Int.self) == Shield.cast(optional, to: Int.self),
      "String": Shield.cast(value, to: String.self) == Shield.cast(optional, to: String.self),
      "Int?": Shield.cast(value, to: Int?.self) == Shield.cast(optional, to: Int?.self),
      "Animal": Shield.cast(value, to: Animal.self) === Shield.cast(optional, to: Animal.self),
      "Cat": Shield.cast(value, to: Cat.self) === Shield.cast(optional, to: Cat.self),
      "Double": Shield.cast(value, orDefault: Double.self) == Shield.cast(optional, orDefault: Double.self),
      "Any": (Shield.cast(value, to: Any.self) == nil) == (Shield.cast(optional, to: Any.self) == nil),
    ]
    return isSame.filter { !$0.value }.map(\.key)
  }

  @Test("a cast gives the same result for a value and for an optional with this value, for all types")
  func same() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let cat = Cat()
      let animal: Animal = cat
      let nothing: Int? = nil
      let values: [Any] = [42, "42", "x", 4.5, true, [1], animal, cat, Int8(3), nothing as Any, Int?.some(7) as Any]
      for value in values where !CastTests.differences(value).isEmpty { Glibc.exit(1) }
      let isRight =
        Shield.cast(values[0], to: Int.self) == 42 && Shield.cast(values[1], to: Int.self) == 42
        && Shield.cast(values[6], to: Animal.self) === cat && Shield.cast(values[6], to: Cat.self) === cat
      Glibc.exit(isRight ? right : 2)
    }
  }

  @Test("Swift selects the overload of Shield.cast by the type of the argument")
  func arguments() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let table: [String: Any] = ["a": 1]
      let (number, optional, object) = (1, Int?.some(1), Cat())
      let reference: AnyObject? = object
      let found: [Int?] = [
        Shield.cast(table["a"]), Shield.cast(table["b"]), Shield.cast(number), Shield.cast(optional), Shield.cast("1"),
        Shield.cast(object), Shield.cast(reference), Shield.cast(nil), Shield.cast(table.first?.value),
      ]
      Glibc.exit(found == [1, nil, 1, 1, 1, nil, nil, nil, 1] ? right : 1)
    }
  }
}
