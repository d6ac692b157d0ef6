// Crashes for which a crash reporter can easily report a wrong source location. The line that each report must name
// ends in `// place: NAME`.
import Glibc

enum Color: Int {
  case red = 1
  case green = 2
}

func half(_ number: Int) -> Int? {
  number % 2 == 0 ? number / 2 : nil
}

func find(_ name: String, in prices: [String: Int]) -> Int? { prices[name] }

// swift-format-ignore: NeverForceUnwrap
@inline(never) func unwrapHalf(_ number: Int) -> Int {
  let found = half(number)!  // place: half
  return found + 1
}

// swift-format-ignore: NeverForceUnwrap
@inline(never) func unwrapFound(_ prices: [String: Int], _ name: String) -> Int {
  let price = find(name, in: prices)!  // place: found
  return price * 2
}

// swift-format-ignore: NeverForceUnwrap
@inline(never) func unwrapElement(_ prices: [String: Int], _ name: String) -> Int {
  prices[name]!  // place: element
}

// swift-format-ignore: NeverForceUnwrap
@inline(never) func unwrapColor(_ number: Int) -> Int {
  Color(rawValue: number)!.rawValue * number  // place: color
}

// The `!` is on the line below the call whose result it unwraps.
// swift-format-ignore
@inline(never) func unwrapHalfBelow(_ number: Int) -> Int {
  let found = half(
    number
  )!  // place: half-below
  return found + 3
}

// swift-format-ignore
@inline(never) func unwrapFoundBelow(_ prices: [String: Int], _ name: String) -> Int {
  let price = find(
    name,
    in: prices
  )!  // place: found-below
  return price * 5
}

// swift-format-ignore
@inline(never) func unwrapElementBelow(_ prices: [String: Int], _ name: String) -> Int {
  prices[
    name
  ]!  // place: element-below
    * 7
}

// swift-format-ignore
@inline(never) func unwrapColorBelow(_ number: Int) -> Int {
  Color(
    rawValue: number
  )!  // place: color-below
  .rawValue * number + 9
}

// swift-format-ignore
@inline(never) func unwrapInClosure(_ numbers: [Int]) -> [Int] {
  numbers.map { number in
    half(
      number
    )!  // place: closure-below
      + 11
  }
}

// swift-format-ignore
@inline(never) func unwrapBehindClosure(_ number: Int) -> Int {
  let halve = { (number: Int) -> Int? in
    half(number)
  }
  return halve(
    number
  )!  // place: behind-closure
    + 13
}

struct Shelf {
  var prices: [Int]

  func price(at index: Int) -> Int? { index < prices.count ? prices[index] : nil }
}

struct Store {
  var shelf: Shelf?

  func shelf(_ name: String) -> Shelf? { name.isEmpty ? nil : shelf }
}

// swift-format-ignore
@inline(never) func unwrapChain(_ store: Store, _ name: String) -> Int {
  store
    .shelf(name)
    .flatMap {
      $0.price(at: 9)
    }!  // place: chain
    .advanced(by: 17)
}

// swift-format-ignore
@inline(never) func unwrapChainTwice(_ store: Store, _ name: String) -> Int {
  store
    .shelf(name)!
    .price(at: 9)!  // place: chain-twice
    .advanced(by: 19)
}

// swift-format-ignore
@inline(never) func unwrapFirst(_ prices: [Int]) -> Int {
  prices
    .first {  // place: first-call
      $0 > 99
    }!  // place: first
    .advanced(by: 23)
}

@inline(never) func indexInlined(_ prices: [Int], _ index: Int) -> Int {
  element(prices, index) + 1
}

@inline(__always) func element(_ prices: [Int], _ index: Int) -> Int {
  prices[index]  // place: index
}

final class Screen {
  var title: String!

  @inline(never) func width() -> Int {
    title.count * 8  // place: implicit
  }

  @inline(never) func layout() -> Int { 3 + width() }
}

@inline(never) func several(_ number: Int) -> Int {
  if number < 0 { fatalError("negative: \(number)") }
  if number == 1 { fatalError("one is not allowed: \(number)") }  // place: several
  return number
}

class Leaf {
  var at: Int
  init(at: Int) { self.at = at }
  // swift-format-ignore: NeverForceUnwrap
  convenience init(text: String) {
    self.init(at: Int(text)!)  // place: convenience
  }
}

@inline(never) func grow(_ text: String) -> Int { Leaf(text: text).at + 1 }

/// A middleware of a server.
///
/// The middleware awaits the next middleware.
struct Account: Sendable {
  var name: String

  @inline(never) func handle(
    _ request: [Int], next: @Sendable ([Int]) async throws -> Int
  ) async throws -> Int {
    let answer = try await next(request)  // place: account
    return answer + name.count
  }
}

struct Tracing: Sendable {
  @inline(never) func handle(
    _ request: [Int], next: @Sendable ([Int]) async throws -> Int
  ) async throws -> Int {
    let answer = try await next(request)  // place: tracing
    return answer * 2
  }
}

@inline(never) func respond(_ request: [Int]) async throws -> Int {
  await Task.yield()
  return request[beyond(request)]  // place: respond
}

/// A call of this function makes the compiler create a stack frame for its caller.
///
/// The async caller would otherwise have no frame.
@inline(never) func beyond(_ request: [Int]) -> Int { request.count + 3 }

@inline(never) func serve(_ request: [Int]) async throws -> Int {
  let (account, tracing) = (Account(name: "shop"), Tracing())
  return try await account.handle(request) { request in
    try await tracing.handle(request) { try await respond($0) }
  }
}

@inline(never) func leak() async {
  let task = Task { await withCheckedContinuation { (_: CheckedContinuation<Void, Never>) in } }
  try? await Task.sleep(nanoseconds: 50_000_000)
  _ = task
}

@main struct Shop {
  static func main() async throws {
    let (which, count) = (CommandLine.arguments[1], CommandLine.arguments.count)
    let prices = count > 5 ? ["pear": 3] : [:]
    switch which {
    case "half": print(unwrapHalf(count + 1))
    case "found": print(unwrapFound(prices, which))
    case "element": print(unwrapElement(prices, which))
    case "half-below": print(unwrapHalfBelow(count + 1))
    case "found-below": print(unwrapFoundBelow(prices, which))
    case "element-below": print(unwrapElementBelow(prices, which))
    case "color-below": print(unwrapColorBelow(count + 5))
    case "closure-below": print(unwrapInClosure([count + 1]))
    case "behind-closure": print(unwrapBehindClosure(count + 1))
    case "chain": print(unwrapChain(Store(shelf: Shelf(prices: [count])), which))
    case "chain-twice": print(unwrapChainTwice(Store(shelf: Shelf(prices: [count])), which))
    case "first": print(unwrapFirst([count]))
    case "color": print(unwrapColor(count + 5))
    case "index": print(indexInlined([count], count + 3))
    case "implicit": print(Screen().layout())
    case "several": print(several(count - 1))
    case "convenience": print(grow(which))
    case "respond": print(try await serve([count]))
    case "leak-index":
      await leak()
      print(indexInlined([count], count + 3))
    default:
      await leak()
      abort()
    }
  }
}
