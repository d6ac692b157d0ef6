// Crashes in functions that the compiler moves, splits or merges. Similar functions differ in a constant, because the
// optimizer would merge equal functions.

extension Scenario {
  static let frames = [
    Scenario(
      "in-lazy-global", "SIGILL", "priceList", reason: "Index out of range",
      summary: "crash while a global is initialized", faultInLazyGlobal),
    Scenario(
      "in-thunk", "SIGILL", "faultInThunk", reason: "Index out of range",
      summary: "crash in a closure that is called through a thunk", faultInThunk),
    Scenario(
      "in-generic-specialisation", "SIGILL", "element", reason: "Index out of range",
      summary: "crash in a generic function", faultInGenericSpecialisation),
    Scenario(
      "inlined-frame", "SIGILL", "inlinedPrice", reason: "Index out of range",
      summary: "crash in a function that is always inlined", faultInlinedFrame),
    Scenario(
      "tail-call", "SIGILL", "lastPrice", reason: "Index out of range",
      summary: "crash in a function that is called last", faultTailCall),
    Scenario(
      "deep-recursion", "SIGILL", "descend", reason: "Index out of range", summary: "crash 400 calls deep",
      faultDeepRecursion),
  ]
}

private func prices() -> [Int] { [opaque(3), opaque(4)] }

private let priceList = [
  opaque(1),
  prices()[opaque(7)],  // fault: in-lazy-global
]

@inline(never) private func faultInLazyGlobal() {
  _ = opaque(priceList.count)
}

/// Calls a closure of a generic type, for which the compiler creates a thunk.
@inline(never) private func call<Argument, Result>(_ body: (Argument) -> Result, _ argument: Argument) -> Result {
  body(argument)
}

@inline(never) private func faultInThunk() {
  let prices = prices()
  let price: (Int) -> Int = { item in
    prices[item] &* 3  // fault: in-thunk
  }
  _ = opaque(call(price, opaque(7)))
}

@inline(never) private func element<Elements: RandomAccessCollection>(
  of elements: Elements, at index: Elements.Index
) -> Elements.Element {
  elements[index]  // fault: in-generic-specialisation
}

@inline(never) private func faultInGenericSpecialisation() {
  _ = opaque(element(of: prices(), at: opaque(7)))
}

@inline(__always) private func inlinedPrice(of item: Int, in prices: [Int]) -> Int {
  prices[item] + 1  // fault: inlined-frame
}

@inline(never) private func faultInlinedFrame() {
  _ = opaque(inlinedPrice(of: opaque(7), in: prices()))
}

@inline(never) private func lastPrice(of item: Int, in prices: [Int]) -> Int {
  prices[item] &* 5  // fault: tail-call
}

@inline(never) private func faultTailCall() {
  _ = opaque(tailCall(opaque(7), prices()))
}

@inline(never) private func tailCall(_ item: Int, _ prices: [Int]) -> Int {
  lastPrice(of: item, in: prices)
}

@inline(never) private func descend(_ depth: Int, _ prices: [Int]) -> Int {
  if depth == 0 { return prices[opaque(7)] }  // fault: deep-recursion
  return descend(opaque(depth - 1), prices) + 1
}

@inline(never) private func faultDeepRecursion() {
  _ = opaque(descend(opaque(400), prices()))
}
