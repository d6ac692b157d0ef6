import Synchronization

/// The base class of the objects that a request creates and releases: eleven objects of six classes, some of which
/// refer to others.
///
/// It counts the live objects, to detect leaked objects when the server ends.
class Counted {
  static let living = Atomic<Int>(0)
  init() { Counted.living.add(1, ordering: .relaxed) }
  deinit { Counted.living.subtract(1, ordering: .relaxed) }
}

/// A request that the shop processes.
final class Order: Counted {
  let customer: Customer
  private(set) var lines: [Line] = []
  weak var session: Session?

  init(customer: Customer, session: Session) {
    self.customer = customer
    self.session = session
  }

  func add(_ line: Line) { lines.append(line) }
  func total(with discount: Discount) -> Int { lines.reduce(0) { $0 + discount.applied(to: $1) } }
}

/// The customer of an order.
final class Customer: Counted {
  let name: String
  let number: Int
  init(name: String, number: Int) {
    self.name = name
    self.number = number
  }
}

/// One article of an order.
final class Line: Counted {
  let article: String
  let cents: Int
  let quantity: Int
  init(article: String, cents: Int, quantity: Int) {
    self.article = article
    self.cents = cents
    self.quantity = quantity
  }
}

/// A discount.
class Discount: Counted {
  func applied(to line: Line) -> Int { line.cents * line.quantity }
}

/// A discount for many pieces of one article.
final class QuantityDiscount: Discount {
  override func applied(to line: Line) -> Int { super.applied(to: line) * (line.quantity >= 10 ? 9 : 10) / 10 }
}

/// The text of the response, before the server writes it to the connection.
final class Receipt: Counted {
  private(set) var text = ""
  func write(_ line: Line) { text += "\(line.quantity) \(line.article)\n" }
  func write(total: Int) { text += "total \(total)\n" }
}

/// The state of a connection.
final class Session: Counted {
  private var requests = 0

  func answer() -> String {
    requests += 1
    let order = Order(customer: Customer(name: "customer \(requests)", number: requests), session: self)
    for index in 1...6 {
      order.add(Line(article: "article \(index)", cents: 100 * index, quantity: requests % 12 + index))
    }
    let discount: Discount = requests % 2 == 0 ? QuantityDiscount() : Discount()
    let receipt = Receipt()
    for line in order.lines { receipt.write(line) }
    receipt.write(total: order.total(with: discount))
    return receipt.text
  }
}
