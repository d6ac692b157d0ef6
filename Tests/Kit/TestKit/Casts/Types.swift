import Synchronization

/// A class that counts its live instances.
///
/// `@unchecked` is needed, because only a final class can be Sendable otherwise. The conformance is safe, because the
/// class has no state.
public class Counted: @unchecked Sendable {
  static let alive = Atomic(0)

  /// The number of live instances.
  public static var count: Int { alive.load(ordering: .relaxed) }

  /// Creates an instance and counts it.
  public init() { Counted.alive.add(1, ordering: .relaxed) }

  deinit { Counted.alive.subtract(1, ordering: .relaxed) }
}

final class Derived: Counted, @unchecked Sendable, Named, CustomStringConvertible {
  var name: String { "derived" }
  var description: String { "a derived object" }
}

final class Other {}

protocol Named {
  var name: String { get }
}

protocol Sized<Size> {
  associatedtype Size
  var size: Size { get }
}

struct Box<Value>: Named, Sized {
  var value: Value
  var name: String { "a box of \(Value.self)" }
  var size: Int { 1 }
}

extension Box: Equatable where Value: Equatable {}
extension Box: Hashable where Value: Hashable {}

enum ShopError: Error, Equatable { case here, there(Int) }

struct OtherError: Error {}

struct Point: Hashable, Codable, Sendable {
  var x = 1
  var y = 2.5
}
