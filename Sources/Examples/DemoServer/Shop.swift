import CDemoInventory
import Logging

/// The routes of the server, and the services behind them.
struct Shop: Sendable {
  private let carts = CartService()
  private let users = UserDirectory()
  private let catalog = Catalog()
  private let logger = Logger(label: "shop")

  func respond(to request: HTTPServer.Request) async -> HTTPServer.Response {
    logger.info("\(request.method) \(request.path)")
    return switch request.path {
    case "/": .ok(Self.help)
    case "/healthy": .ok("healthy")
    case "/cart": .ok("to pay: \(await carts.checkout(cart: 17)) cents")
    case "/cart/array-index": .ok("to pay: \(await carts.checkout(cart: 42)) cents")
    case "/user/force-unwrap": .ok(users.newsletterRecipients(of: [3, 7]).joined(separator: ", "))
    case "/native/null-write": .ok(restock(item: 99, stock: 20))
    case "/catalog/stack-overflow": .ok(await catalog.depthOnEventLoop(of: "teas"))
    default: .notFound(Self.help)
    }
  }

  /// Records a delivery.
  ///
  /// C code manages the shelves.
  private func restock(item: Int64, stock: Int64) -> String {
    // BUG, for the demo: inventory_find returns null for an unknown item.
    unsafe inventory_restock(inventory_find(item), stock)
    return "in stock: \(stock)"
  }

  private static let help = """
    A small shop with four bugs; each of these ends the server:
      /cart/array-index    an array index out of range, four awaits deep
      /user/force-unwrap   a nil unwrapped in a closure
      /native/null-write   a write through a null pointer in C
      /catalog/stack-overflow  a category that is its own parent, on an event loop
    These do not end it: /cart /healthy
    """
}
