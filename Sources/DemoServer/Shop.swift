import CDemoInventory
import CrashShield

/// What the server does: the routes and the services behind them.
struct Shop: Sendable {
  private let carts = CartService()
  private let users = UserDirectory()

  func respond(to request: HTTPServer.Request) async -> HTTPServer.Response {
    Shield.breadcrumb("\(request.method) \(request.path)")
    return switch request.path {
    case "/": .ok(Self.help)
    case "/healthy": .ok("healthy")
    case "/cart": .ok("to pay: \(await carts.checkout(cart: 17)) cents")
    case "/cart/array-index": .ok("to pay: \(await carts.checkout(cart: 42)) cents")
    case "/user/force-unwrap": .ok(users.newsletterRecipients(of: [3, 7]).joined(separator: ", "))
    case "/native/null-write": .ok("left: \(reserve(item: 99, quantity: 2))")
    default: .notFound(Self.help)
    }
  }

  /// Takes items from the shelf, which C code looks after.
  private func reserve(item: Int64, quantity: Int64) -> Int64 {
    // BUG, for the demo: inventory_find returns null for an item that the shop does not have.
    unsafe inventory_reserve(inventory_find(item), quantity)
  }

  private static let help = """
    A small shop with three bugs; each of these ends the server:
      /cart/array-index    an array index out of range, four awaits deep
      /user/force-unwrap   a nil unwrapped in a closure
      /native/null-write   a null pointer written through in C
    And these do not: /cart /healthy
    """
}
