// Crashes in Swift tasks.

extension Scenario {
  static let concurrency = [
    Scenario(
      "task-deep-async", "SIGILL", "faultTaskDeepAsync", reason: "Index out of range",
      summary: "crash five awaits deep in a task",
      asyncCallers: ["loadCustomer", "applyDiscount", "priceOrder", "placeOrder"]
    ) { await placeOrder() },
    Scenario(
      "continuation-twice", "SIGILL", "faultContinuationTwice", reason: "SWIFT TASK CONTINUATION MISUSE",
      summary: "resume a checked continuation twice", asyncCallers: []
    ) { await faultContinuationTwice() },
  ]
}

// Each function uses what it awaited, so that none of the calls is the caller's last act.

@inline(never) private func placeOrder() async {
  let warehouse = Warehouse()
  let price = await priceOrder(in: warehouse)
  _ = opaque(price + 1)
}

@inline(never) private func priceOrder(in warehouse: Warehouse) async -> Int {
  do {
    return try await warehouse.applyDiscount(to: opaque(100)) + 1
  } catch {
    return opaque(0)
  }
}

private actor Warehouse {
  private var discounts = [opaque(5), opaque(10)]

  @inline(never) func applyDiscount(to price: Int) async throws -> Int {
    let discount = try await loadCustomer(at: discounts)
    discounts.append(discount)
    return price - discount
  }
}

private struct NoCustomer: Error {}

@inline(never) private func loadCustomer(at discounts: [Int]) async throws -> Int {
  if discounts.isEmpty { throw NoCustomer() }
  return await faultTaskDeepAsync(discounts) + 1
}

@inline(never) private func faultTaskDeepAsync(_ discounts: [Int]) async -> Int {
  await Task.yield()
  return discounts[opaque(2)]  // fault: task-deep-async
}

@inline(never) private func faultContinuationTwice() async {
  let number = await withCheckedContinuation { continuation in
    continuation.resume(returning: opaque(1))
    continuation.resume(returning: opaque(2))  // fault: continuation-twice
  }
  _ = opaque(number)
}
