import Synchronization
import Testing

@testable import FleetServer

@Suite("Health cache")
struct HealthCacheTests {
  @Test("requests at once and within a second ask the database once, also if it fails")
  func once() async throws {
    let clock = TestClock()
    let calls = Mutex(0)
    let refusal = Refusal(.database, "x")
    let cache = HealthCache(now: { clock.now }) { () throws(Refusal) in
      let number = calls.withLock { count in
        count += 1
        return count
      }
      if number == 2 { throw refusal }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<50 { group.addTask { try await cache.check() } }
      try await group.waitForAll()
    }
    #expect(calls.withLock { $0 } == 1)
    clock.advance(.seconds(1))
    for _ in 0..<2 { await #expect(throws: refusal) { try await cache.check() } }
    #expect(calls.withLock { $0 } == 2)
    clock.advance(.seconds(1))
    try await cache.check()
    #expect(calls.withLock { $0 } == 3)
  }
}
