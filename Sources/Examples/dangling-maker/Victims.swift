// The classes for use-after-free accesses. Each number is 7 while the object lives.

/// A protocol that the compiler knows only by its witness table where it is used.
protocol Answering: AnyObject {
  func answer() -> Int
}

class Session: Answering {
  final var number = 7
  @inline(never) func greet() -> Int { number }
  @inline(never) func later() async -> Int {
    await Task.yield()
    return number
  }
  @inline(never) func answer() -> Int { number }
  /// Never overridden: the optimizer makes calls of it direct, and only a debug build keeps them virtual.
  @inline(never) func plain() -> Int { number }
}

/// Keeps the calls of what it overrides virtual in optimized builds.
final class Guest: Session {
  @inline(never) override func greet() -> Int { number + 1 }
  @inline(never) override func later() async -> Int { number + 1 }
  @inline(never) override func answer() -> Int { number + 1 }
}

/// Another class with the same protocol.
final class Other: Answering {
  @inline(never) func answer() -> Int { 1 }
}

class Box<Value> {
  final var value: Value
  init(_ value: Value) { self.value = value }
  @inline(never) func get() -> Value { value }
}

final class FullBox<Value>: Box<Value> {
  @inline(never) override func get() -> Value { value }
}
