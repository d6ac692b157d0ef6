/// One line of a cart.
struct CartLine: Sendable {
  var item: String
  var cents: Int
  var quantity: Int
}

/// Carts and their prices.
actor CartService {
  private let carts: [Int: [CartLine]] = [
    17: [CartLine(item: "Tea", cents: 450, quantity: 2)],
    42: [CartLine(item: "Teapot", cents: 3_900, quantity: 1), CartLine(item: "Cup", cents: 700, quantity: 30)],
  ]
  private let discounts = Discounts()

  /// Returns the price of a cart, in cents.
  func checkout(cart number: Int) async -> Int {
    let lines = carts[number] ?? []
    let total = await price(of: lines)
    return max(total, 0)
  }

  private func price(of lines: [CartLine]) async -> Int {
    var total = 0
    for line in lines {
      total += await price(of: line)
    }
    return total
  }

  private func price(of line: CartLine) async -> Int {
    let percent = await discounts.percent(forQuantity: line.quantity)
    return line.cents * line.quantity * (100 - percent) / 100
  }
}

/// Discounts that grow with the quantity.
actor Discounts {
  /// The discounts in percent for fewer than ten items, for at least ten, and for at least twenty.
  private let tiers = [0, 5, 10]

  func percent(forQuantity quantity: Int) -> Int {
    // BUG, for the demo: there is no fourth tier.
    tiers[quantity / 10]  // fault: array-index
  }
}
