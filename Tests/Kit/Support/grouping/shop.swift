// Five ordinary crashes of a small program, for the tests of grouping. The functions have no attributes, because
// attributes change how the compiler treats a function.
import Glibc

struct Item {
  var name: String
  var price: Int
}

struct Cart {
  var items: [Item]

  func price(at index: Int) -> Int { items[index].price }

  func total(upTo count: Int) -> Int {
    var sum = 0
    for index in 0..<count { sum += price(at: index) }
    return sum
  }
}

final class Directory {
  private var owners: [String: String] = [:]

  func add(_ owner: String, for cart: String) { owners[cart] = owner }
  // swift-format-ignore: NeverForceUnwrap
  func owner(of cart: String) -> String { owners[cart]! }
}

protocol Discount {
  func apply(to price: Int) -> Int
}

struct Percentage: Discount {
  var percent: Int
  func apply(to price: Int) -> Int { price * 100 / percent }
}

func reduced<D: Discount>(_ prices: [Int], by discount: D) -> [Int] { prices.map { discount.apply(to: $0) } }

actor Register {
  private var open: [Int: Int] = [:]

  func begin(_ number: Int) { open[number] = 0 }

  func pay(_ amount: Int, at number: Int) async throws -> Int {
    await Task.yield()
    guard let before = open[number] else { fatalError("register \(number) is closed") }
    open[number] = before + amount
    return before + amount
  }
}

func checkout(_ register: Register, _ amounts: [Int]) async throws -> Int {
  var sum = 0
  for (index, amount) in amounts.enumerated() { sum += try await register.pay(amount, at: index) }
  return sum
}

func header(of page: UnsafePointer<Int>?) -> Int {
  guard let page else { return 0 }
  return page.pointee
}

let number = Int(CommandLine.arguments[1]) ?? 0
let cart = Cart(items: CommandLine.arguments.map { Item(name: $0, price: $0.count) })
switch number {
case 1: print(cart.total(upTo: cart.items.count + number))
case 2:
  let directory = Directory()
  directory.add("owner", for: "cart")
  print(directory.owner(of: CommandLine.arguments[1]))
case 3: print(reduced(cart.items.map(\.price), by: Percentage(percent: number - 3)))
case 4:
  let register = Register()
  await register.begin(0)
  print(try await checkout(register, [number, number]))
case 5: print(header(of: UnsafePointer(bitPattern: number * 8)))
default: exit(2)
}
