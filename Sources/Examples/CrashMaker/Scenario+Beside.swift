// A crash in a task while another task occupies another thread.
internal import Dispatch

extension Scenario {
  /// The async callers of the function in which the other task waits, innermost first.
  public static let waitingCallers = ["countAisle", "countStock"]
  /// The name of the other task.
  public static let waitingTask = "count the stock"

  static let besideTask = Scenario(
    "task-beside-task", "SIGILL", "faultBesideTask", reason: "Index out of range",
    summary: "crash in a task while another task blocks its thread", asyncCallers: []
  ) { await crashBesideTask() }
}

@inline(never) private func waitForEver(_ shelf: Int) -> Int {
  DispatchSemaphore(value: 0).wait()
  return opaque(shelf)
}

@inline(never) private func countShelf(_ shelf: Int, told: CheckedContinuation<Int, Never>) async -> Int {
  await Task.yield()
  told.resume(returning: opaque(1))
  return waitForEver(shelf) + 1
}

@inline(never) private func countAisle(_ aisle: Int, told: CheckedContinuation<Int, Never>) async -> Int {
  await countShelf(aisle + opaque(1), told: told) + 1
}

@inline(never) private func countStock(told: CheckedContinuation<Int, Never>) async -> Int {
  await countAisle(opaque(2), told: told) + 1
}

@inline(never) private func faultBesideTask(_ prices: [Int]) async -> Int {
  await Task.yield()
  return prices[opaque(6)]  // fault: task-beside-task
}

@inline(never) private func crashBesideTask() async {
  let price = await withCheckedContinuation { told in
    Task(name: Scenario.waitingTask, priority: .utility) { opaque(await countStock(told: told)) }
  }
  _ = opaque(await faultBesideTask([price]) + 1)
}
