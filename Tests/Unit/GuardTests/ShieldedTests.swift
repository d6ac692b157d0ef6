import CrashShieldGuards
import Synchronization
import Testing

/// Tests properties that notify observers of their changes.
@Suite
struct ShieldedTests {
  @Test("each change of a property notifies that property's observers, after the change")
  func changes() {
    let cart = Cart()
    let seen = Seen()
    cart.observers.add(seen, for: \.count) { seen, count in seen.add("count \(count)") }
    cart.observers.add(seen, for: \.owner) { seen, owner in seen.add("owner \(owner)") }
    cart.count = 2
    cart.count += 3
    cart.owner = "x"
    cart.size = 7
    cart.observers.remove(seen, for: \Cart.count)
    cart.count = 9
    #expect(cart.count == 9 && cart.size == 7)
    #expect(seen.all == ["count 2", "count 5", "owner x"])
  }

  @Test("an observer may change the property that it observes")
  func again() {
    let cart = Cart()
    let seen = Seen()
    cart.observers.add(seen, for: \.size) { [unowned cart] seen, size in
      seen.add("\(size) \(cart.size)")
      if size < 3 { cart.size = size + 1 }
    }
    cart.size = 1
    #expect(seen.all == ["1 1", "2 2", "3 3"])
  }
}

/// A class with observed properties.
///
/// Sendable: only one thread uses the object.
private final class Cart: ShieldedSubject, @unchecked Sendable {
  let observers = ObserverRegistry<Cart>()
  @Shielded var count = 0
  @Shielded var owner = ""
  @Shielded var size = 0
}

private final class Seen: Sendable {
  private let lines = Mutex<[String]>([])
  var all: [String] { lines.withLock { $0 } }
  func add(_ line: String) { lines.withLock { $0.append(line) } }
}
