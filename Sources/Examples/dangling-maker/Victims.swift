// The classes for use-after-free accesses. The property `number` of each object is 7 before the object is deallocated.

/// A protocol whose methods are called through its witness table.
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
  /// The method is never overridden.
  ///
  /// The optimizer devirtualizes calls of this method, so that only a debug build calls it through the vtable.
  @inline(never) func plain() -> Int { number }
}

/// Overrides methods, so that the optimizer does not devirtualize their calls.
final class Guest: Session {
  @inline(never) override func greet() -> Int { number + 1 }
  @inline(never) override func later() async -> Int { number + 1 }
  @inline(never) override func answer() -> Int { number + 1 }
}

/// Another class that conforms to the same protocol.
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
