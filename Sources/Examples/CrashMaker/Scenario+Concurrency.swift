// Crashes in Swift tasks.

// Similar functions differ in a constant, because the optimizer would merge equal functions.

extension Scenario {
  static let concurrency = [
    Scenario(
      "task-deep-async", "SIGILL", "faultTaskDeepAsync", reason: "Index out of range",
      summary: "crash five awaits deep in a task",
      asyncCallers: ["loadCustomer", "applyDiscount", "priceOrder", "placeOrder"]
    ) { await placeOrder() },
    Scenario(
      "task-named", "SIGILL", "faultTaskNamed", reason: "Index out of range",
      summary: "crash in a task that has a name and a priority", asyncCallers: ["closure #1 in nameTask"]
    ) { await nameTask() },
    Scenario(
      "continuation-twice", "SIGILL", "faultContinuationTwice", reason: "SWIFT TASK CONTINUATION MISUSE",
      summary: "resume a checked continuation twice", asyncCallers: []
    ) { await faultContinuationTwice() },
    Scenario(
      "in-task-group", "SIGILL", "faultInTaskGroup", reason: "Index out of range",
      summary: "crash in a child of a task group", asyncCallers: ["closure #1 in collectPrices"]
    ) { await collectPrices() },
    Scenario(
      "in-async-let", "SIGILL", "faultInAsyncLet", reason: "Index out of range", summary: "crash in an async let",
      asyncCallers: []
    ) { await comparePrices() },
    besideTask,
    Scenario(
      "actor-assume-isolated", "SIGABRT", "faultActorAssumeIsolated",
      summary: "assume isolation on another actor", faultActorAssumeIsolated),
    Scenario(
      "main-actor-off-main", "SIGILL", "faultMainActorOffMain",
      summary: "assume isolation on the main actor on another thread", faultMainActorOffMain
    ).with { $0.threads = [.dispatch, .task, .pthread] },
  ]
}

@inline(never) private func faultTaskNamed(_ prices: [Int]) async -> Int {
  await Task.yield()
  return prices[opaque(5)]  // fault: task-named
}

@inline(never) private func nameTask() async {
  let restocking = Task(name: "restock the shelves", priority: .background) {
    await faultTaskNamed([opaque(1)]) - 1
  }
  _ = opaque(await restocking.value)
}

@inline(never) private func faultInTaskGroup(_ prices: [Int]) async -> Int {
  await Task.yield()
  return prices[opaque(3)]  // fault: in-task-group
}

@inline(never) private func collectPrices() async {
  let sum = await withTaskGroup(of: Int.self) { group in
    group.addTask { await faultInTaskGroup([opaque(1)]) + 1 }
    return await group.reduce(0, +)
  }
  _ = opaque(sum)
}

@inline(never) private func faultInAsyncLet(_ prices: [Int]) async -> Int {
  await Task.yield()
  return prices[opaque(4)]  // fault: in-async-let
}

@inline(never) private func comparePrices() async {
  async let ours = faultInAsyncLet([opaque(1)])
  let theirs = opaque(7)
  _ = opaque(await ours - theirs)
}

@inline(never) private func faultActorAssumeIsolated() {
  let warehouse = Warehouse()
  let count = warehouse.assumeIsolated { $0.discountCount }  // fault: actor-assume-isolated
  _ = opaque(count)
}

@inline(never) private func faultMainActorOffMain() {
  let count = MainActor.assumeIsolated { opaque(1) }  // fault: main-actor-off-main
  _ = opaque(count)
}

// Each function computes with the awaited result, to prevent tail calls.

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

  var discountCount: Int { discounts.count }

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
