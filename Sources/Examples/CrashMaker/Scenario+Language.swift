// Crashes by failed run-time checks of Swift code. The values go through `opaque`, so that the optimizer cannot compute
// them.
internal import CCrashMaker

extension Scenario {
  static let language = [
    Scenario(
      "array-index", "SIGILL", "faultArrayIndex", reason: "Index out of range",
      summary: "read past the end of an array", faultArrayIndex),
    Scenario(
      "force-unwrap", "SIGILL", "faultForceUnwrap",
      reason: "Unexpectedly found nil while unwrapping an Optional value", summary: "unwrap a nil with !",
      faultForceUnwrap),
    Scenario(
      "integer-overflow", "SIGILL", "faultIntegerOverflow", reason: "arithmetic overflow",
      summary: "add one to Int.max", faultIntegerOverflow),
    Scenario(
      "divide-by-zero", "SIGILL", "faultDivideByZero", reason: "Division by zero", summary: "divide an Int by zero",
      faultDivideByZero),
    Scenario(
      "narrow", "SIGILL", "faultNarrow", reason: "Not enough bits to represent the passed value",
      summary: "make a UInt8 of 256", faultNarrow),
    Scenario(
      "range-reversed", "SIGILL", "faultRangeReversed", reason: "Range requires lowerBound <= upperBound",
      summary: "make the range 3..<1", faultRangeReversed),
    Scenario(
      "fatal-error", "SIGILL", "faultFatalError", reason: "the price list is empty", summary: "call fatalError",
      faultFatalError),
    Scenario(
      "fatal-error-long", "SIGILL", "faultFatalErrorLong", reason: "of 400 prices, line 0 is wrong",
      summary: "call fatalError with 10,000 characters", faultFatalErrorLong),
    Scenario(
      "precondition-message", "SIGILL", "faultPreconditionMessage", reason: "an order has at least one line",
      summary: "break a precondition that has a message", faultPreconditionMessage
    ).with { $0.optimizedReason = "precondition failure" },
    Scenario(
      "forced-cast-any", "SIGABRT", "faultForcedCastAny", reason: "Could not cast value of type 'Swift.String'",
      summary: "cast an Any that holds a String to Int with as!", faultForcedCastAny),
    Scenario(
      "forced-try", "SIGILL", "faultForcedTry", reason: "OrderError.soldOut", summary: "try! something that throws",
      faultForcedTry),
    Scenario(
      "unowned-dangling", "SIGABRT", "faultUnownedDangling", reason: "Attempted to read an unowned reference",
      summary: "read an unowned reference after its object was freed", faultUnownedDangling),
    Scenario(
      "in-closure", "SIGILL", "faultInClosure", reason: "Index out of range", summary: "crash in a closure under map",
      faultInClosure),
    Scenario(
      "in-deinit", "SIGILL", "deinit", reason: "arithmetic overflow", summary: "crash while an object is destroyed",
      faultInDeinit),
  ]
}

/// Returns `number` in a way that the optimizer cannot compute.
func opaque(_ number: Int) -> Int { Int(cs_opaque(Int64(number))) }

private func stock() -> [Int] { [opaque(12), opaque(7), opaque(3)] }

@inline(never) private func faultArrayIndex() {
  let stock = stock()
  _ = opaque(stock[opaque(7)])  // fault: array-index
}

@inline(never) private func faultForceUnwrap() {
  let customer: Int? = opaque(0) == 0 ? nil : 1
  // swift-format-ignore: NeverForceUnwrap
  _ = opaque(customer!)  // fault: force-unwrap
}

@inline(never) private func faultIntegerOverflow() {
  _ = opaque(opaque(Int.max) + 1)  // fault: integer-overflow
}

@inline(never) private func faultDivideByZero() {
  _ = opaque(opaque(100) / opaque(0))  // fault: divide-by-zero
}

@inline(never) private func faultNarrow() {
  _ = opaque(Int(UInt8(opaque(256))))  // fault: narrow
}

@inline(never) private func faultRangeReversed() {
  _ = opaque((opaque(3)..<opaque(1)).count)  // fault: range-reversed
}

@inline(never) private func faultFatalError() {
  if opaque(0) == 0 {
    fatalError("the price list is empty")  // fault: fatal-error
  }
}

@inline(never) private func faultFatalErrorLong() {
  let words = (0..<400).map { "of 400 prices, line \($0) is wrong" }
  if opaque(0) == 0 {
    fatalError(words.joined(separator: "; "))  // fault: fatal-error-long
  }
}

@inline(never) private func faultPreconditionMessage() {
  precondition(opaque(0) > 0, "an order has at least one line")  // fault: precondition-message
}

@inline(never) private func faultForcedCastAny() {
  let field: Any = opaque(0) == 0 ? "twelve" : 12
  // swift-format-ignore: NeverForceUnwrap
  _ = opaque(field as! Int)  // fault: forced-cast-any
}

enum OrderError: Error {
  case soldOut
}

@inline(never) private func order(_ number: Int) throws -> Int {
  if number == 0 { throw OrderError.soldOut }
  return number
}

@inline(never) private func faultForcedTry() {
  // swift-format-ignore: NeverUseForceTry
  _ = opaque(try! order(opaque(0)))  // fault: forced-try
}

private final class Customer {
  let number: Int

  init(number: Int) { self.number = number }
}

private struct Order {
  unowned let customer: Customer

  init(of customer: Customer) { self.customer = customer }
}

@inline(never) private func orderOfForgottenCustomer() -> Order { Order(of: Customer(number: opaque(7))) }

@inline(never) private func faultUnownedDangling() {
  let order = orderOfForgottenCustomer()
  _ = opaque(order.customer.number)  // fault: unowned-dangling
}

@inline(never) private func faultInClosure() {
  let stock = stock()
  let prices = [opaque(1), opaque(2), opaque(9)].map { item in
    stock[item]  // fault: in-closure
  }
  _ = opaque(prices.count)
}

private final class Receipt {
  let total: Int

  init(total: Int) { self.total = total }

  deinit {
    _ = opaque(total + 1)  // fault: in-deinit
  }
}

@inline(never) private func faultInDeinit() {
  let receipt = Receipt(total: opaque(Int.max))
  _ = opaque(receipt.total)
}
