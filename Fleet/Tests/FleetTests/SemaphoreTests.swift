import Testing

@testable import FleetServer

@Suite("Semaphore")
struct SemaphoreTests {
  /// Takes the only permit in a task.
  ///
  /// The task returns the permit when the caller finishes the returned continuation.
  private func hold(
    _ semaphore: Semaphore, _ group: inout ThrowingTaskGroup<Void, any Error>
  ) async -> AsyncStream<Void>.Continuation {
    let (opened, open) = AsyncStream.makeStream(of: Void.self)
    let held = AsyncStream.makeStream(of: Void.self)
    group.addTask {
      try await semaphore.run { () throws(Refusal) in
        held.continuation.finish()
        for await _ in opened {}
      }
    }
    for await _ in held.stream {}
    return open
  }

  @Test("tenants take turns, and tasks of one tenant keep their order")
  func turns() async throws {
    let semaphore = Semaphore(1, waiting: 6)
    let order = TestLines()
    try await withThrowingTaskGroup(of: Void.self) { group in
      let open = await hold(semaphore, &group)
      for (number, tenant) in ([1, 1, 1, 2, 3, 2] as [Int32]).enumerated() {
        group.addTask {
          try await semaphore.run(for: tenant) { () throws(Refusal) in order.add("\(tenant).\(number)") }
        }
        while semaphore.waiting <= number { await Task.yield() }
      }
      open.finish()
      try await group.waitForAll()
    }
    #expect(order.all == ["1.0", "2.3", "3.4", "1.1", "2.5", "1.2"])
    #expect(semaphore.waiting == 0)
  }

  @Test("a task that waited longer than its patience is refused when it gets its permit, and returns the permit")
  func patience() async throws {
    let clock = TestClock()
    let semaphore = Semaphore(1, waiting: 2, patience: .seconds(20)) { clock.now }
    let order = TestLines()
    try await withThrowingTaskGroup(of: Void.self) { group in
      let open = await hold(semaphore, &group)
      for number in 0..<2 {
        group.addTask {
          do throws(Refusal) {
            try await semaphore.run { () throws(Refusal) in order.add("ran \(number)") }
          } catch { order.add("\(error.code) \(number)") }
        }
        while semaphore.waiting <= number { await Task.yield() }
        clock.advance(.seconds(20))
      }
      open.finish()
      try await group.waitForAll()
    }
    #expect(order.all.sorted() == ["busy 0", "ran 1"])
  }

  @Test("a task that finds no permit and the limit of waiting tasks is refused at once")
  func limit() async throws {
    let semaphore = Semaphore(1, waiting: 2)
    try await withThrowingTaskGroup(of: Void.self) { group in
      let open = await hold(semaphore, &group)
      for number in 0..<2 {
        group.addTask { try await semaphore.run { () throws(Refusal) in } }
        while semaphore.waiting <= number { await Task.yield() }
      }
      await #expect { try await semaphore.run(for: 1) { () throws(Refusal) in } } throws: {
        ($0 as? Refusal)?.code == .busy
      }
      open.finish()
      try await group.waitForAll()
    }
    // The waiting tasks have run, and the permit is free again.
    try await semaphore.run { () throws(Refusal) in }
  }
}
