// Crashes by failed run-time checks of Swift, such as casts and assertions.

extension Scenario {
  static let checks = [
    Scenario(
      "double-to-int", "SIGILL", "faultDoubleToInt", reason: "Double value cannot be converted to Int",
      summary: "make an Int of 1e300", faultDoubleToInt),
    Scenario(
      "assertion", "SIGILL", "faultAssertion", reason: "the stock is counted", summary: "break an assertion",
      faultAssertion
    ).with { $0.needsDebug = true },
    Scenario(
      "forced-cast-class", "SIGABRT", "faultForcedCastClass", reason: "Could not cast value of type",
      summary: "cast an object to a class with as!", faultForcedCastClass),
    Scenario(
      "exclusivity", "SIGABRT", "take(from:)", reason: "Fatal access conflict detected",
      summary: "change a property while it is being changed", faultExclusivity),
  ]
}

@inline(never) private func faultDoubleToInt() {
  let price = Double(opaque(3)) * 1e300
  _ = opaque(Int(price))  // fault: double-to-int
}

@inline(never) private func faultAssertion() {
  assert(opaque(0) > 0, "the stock is counted")  // fault: assertion
}

// The classes are neither private nor final. For private or final classes, the compiler inlines the cast, and a failing
// cast has no message.
class Vehicle {}
class Bicycle: Vehicle {}
class Lorry: Vehicle {
  let load = opaque(12)
}

@inline(never) func vehicle() -> Vehicle { opaque(0) == 0 ? Bicycle() : Lorry() }

@inline(never) private func faultForcedCastClass() {
  // swift-format-ignore: NeverForceUnwrap
  _ = opaque((vehicle() as! Lorry).load)  // fault: forced-cast-class
}

private final class Shelf {
  var count = opaque(3)

  @inline(never) func take(from count: inout Int) {
    count -= 1
    self.count -= opaque(1)  // fault: exclusivity
  }
}

@inline(never) private func faultExclusivity() {
  let shelf = Shelf()
  shelf.take(from: &shelf.count)
  _ = opaque(shelf.count)
}
