import CShim
import CShimRing
import CTestKit
import CrashShield
import Glibc
import Synchronization
import Testing

/// Tests what a contained request returns and throws, and what it inherits from its caller.
///
/// Each test runs in its own process.
@Suite("Contained requests", .unlessSanitized)
struct ContainedRequestTests {
  private struct Refused: Error, Equatable { let number: Int }

  private enum Inherited { @TaskLocal static var number = 0 }

  @Test("a contained request returns its value, throws its own error, and inherits task-locals and priority")
  func results() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startContained()
      let value = try await contained { 42 }
      #expect(value == 42)
      await #expect(throws: Refused(number: 7)) { try await contained { throw Refused(number: 7) } }
      let local = try await Inherited.$number.withValue(3) { try await contained { Inherited.number } }
      #expect(local == 3)
      let low = Task.detached(priority: .low) { try await contained { Task.currentPriority } }
      let priority = try await low.value
      #expect(priority == .low)
      let nested = try await contained { try await contained { 1 } + 1 }
      #expect(nested == 2)
      let header = RingBytes.here.header
      #expect(header.request_begun == 6 && header.request_finished == 5 && header.request_failed == 1)
      #expect(RingBytes.here.requests.allSatisfy { $0.step == UInt64(CS_RING_REQUEST_FREE) })
      exit(rightStatus)
    }
  }

  @Test("a trap ends its request with an error, and an outer request can catch the error of an inner request")
  func traps() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startContained()
      await #expect(throws: ShieldFault.trapped) { try await contained { shelf(0) } }
      let nested = try await contained { (try? await contained { shelf(0) }) ?? -1 }
      #expect(nested == -1)
      let next = try await contained { shelf(1) }
      #expect(next == 1 && !Shield.isDraining)
      exit(rightStatus)
    }
  }

  @Test("cancelling the caller cancels the request, whether before it begins or while it runs")
  func cancellation() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startContained()
      let before = Task {
        // Invariant: the task is valid in this closure.
        unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
        return try? await contained { Task.isCancelled }
      }
      #expect(await before.value == true)
      let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
      let during = Task {
        try await contained {
          continuation.yield()
          try await Task.sleep(for: .seconds(3600))
        }
      }
      for await _ in begun { break }
      during.cancel()
      await #expect(throws: CancellationError.self) { try await during.value }
      for _ in 0..<20_000 {
        let race = Task { try? await contained { await Task.yield() } }
        race.cancel()
        await race.value
      }
      exit(rightStatus)
    }
  }

  @Test("if a trap races with the cancellation of the caller, the caller still gets exactly one result")
  func cancelledTraps() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startContained(budget: 200)
      for number in 0..<100 {
        let task = Task {
          try await contained {
            for _ in 0..<number { await Task.yield() }
            return shelf(0)
          }
        }
        for _ in 0..<50 { await Task.yield() }
        task.cancel()
        await #expect(throws: ShieldFault.trapped) { try await task.value }
      }
      exit(rightStatus)
    }
  }

  @Test(
    "of 6,000 simultaneous requests, those without a place in the full table run in the caller's task and are counted")
  func overflow() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startContained()
      let (count, limit) = (6000, Int(CS_RING_REQUEST_LIMIT))
      let gate = Gate()
      let sum = await withTaskGroup(of: Int.self) { group in
        for number in 0..<count {
          group.addTask {
            (try? await contained {
              await gate.wait()
              return number
            }) ?? -1
          }
        }
        await gate.isFull(count)
        await gate.open()
        return await group.reduce(0, +)
      }
      #expect(sum == count * (count - 1) / 2)
      #expect(RingBytes.here.header.request_overflow == UInt64(count - limit))
      #expect(RingBytes.here.header.request_finished == UInt64(count))
      exit(rightStatus)
    }
  }

  @Test("300,000 contained requests leak no memory")
  func leaks() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startContained()
      for _ in 0..<1000 { _ = try await contained { 1 } }
      let before = cs_test_heap_bytes()
      for _ in 0..<300_000 { _ = try await contained { 1 } }
      // A leak of one byte per request would be 300,000 bytes.
      #expect(cs_test_heap_bytes() < before + 100_000)
      exit(rightStatus)
    }
  }

  @Test("without containment and without the shield, the work runs in the caller's task")
  func withoutContainment() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      // Invariant: the task is valid in the inner closure.
      let number = { @Sendable () async throws -> Int? in unsafe withUnsafeCurrentTask { unsafe $0?.hashValue } }
      let outer = try await number()
      var inner = try await contained(number)
      #expect(outer != nil && inner == outer)
      startShield()
      inner = try await contained(number)
      #expect(inner == outer && RingBytes.here.header.request_finished == 1)
      #expect(Shield.status.containmentObstacle == nil && !Shield.isDraining)
      exit(rightStatus)
    }
  }

  @Test("an actor continues on its own executor after a contained request")
  func actors() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startContained()
      let counter = Counter()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<100 { group.addTask { try await counter.add() } }
        try await group.waitForAll()
      }
      #expect(await counter.count == 100)
      exit(rightStatus)
    }
  }
}

private actor Counter {
  var count = 0

  func add() async throws {
    let added = try await Shield.withContainedRequest("add") { 1 }
    assertIsolated()
    count += added
  }
}

func contained<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
  try await Shield.withContainedRequest("GET /", work)
}

/// Starts the shield in a mode in which a trap of a contained request ends only the request.
func startContained(budget: Int = 16) {
  var configuration = Shield.Configuration(socket: "/dev/null/attach", spool: "/dev/null/spool")
  configuration.containment = .contain(budget: budget)
  do {
    try Shield.startOrThrow(configuration)
  } catch {
    complain("\(error)")
  }
  if let obstacle = Shield.status.containmentObstacle { complain(obstacle) }
}
