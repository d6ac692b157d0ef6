import Synchronization
import Testing

@testable import CrashDaemon

@Suite("Shared turns: work that runs once for all earlier callers")
struct SharedTurnsTests {
  @Test("all callers that arrive during a turn share the next turn", .timeLimit(.minutes(5)))
  func shared() async {
    let turns = SharedTurns<Int>()
    let done = Counter()
    let (gate, opener) = AsyncStream.makeStream(of: Void.self)
    let first = Task {
      await turns.run(1) {
        for await _ in gate { break }
        done.value.add(1, ordering: .relaxed)
      }
    }
    while await isFree(turns, 1) { await Task.yield() }
    let late = (0..<5).map { _ in
      Task { await turns.run(1) { done.value.add(1, ordering: .relaxed) } }
    }
    while turns.waitingCount(1) < late.count { await Task.yield() }
    // A turn of another key starts at once, although the turn of key 1 is still running.
    await turns.run(2) { #expect(done.value.load(ordering: .relaxed) == 0) }
    await turns.runIfFree(1) { Issue.record("two turns of one key ran at once") }
    opener.finish()
    await first.value
    for task in late { await task.value }
    #expect(done.value.load(ordering: .relaxed) == 2 && turns.waitingCount(1) == 0)
    #expect(await isFree(turns, 1))
  }

  @Test("turns of a key never overlap, and each caller's turn starts after its call", .timeLimit(.minutes(5)))
  func exclusive() async {
    let turns = SharedTurns<Int>()
    let running = Counter()
    let made = Counter()
    let seen = Counter()
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<64 {
        group.addTask {
          for round in 0..<50 {
            let mine = made.value.add(1, ordering: .sequentiallyConsistent).newValue
            let look: @Sendable () async -> Void = {
              #expect(running.value.add(1, ordering: .sequentiallyConsistent).newValue == 1)
              let now = made.value.load(ordering: .sequentiallyConsistent)
              if round % 7 == 0 { await Task.yield() }
              _ = seen.value.max(now, ordering: .sequentiallyConsistent)
              running.value.subtract(1, ordering: .sequentiallyConsistent)
            }
            if index % 4 == 0 {
              await turns.runIfFree(0, look)
            } else {
              await turns.run(0, look)
              #expect(seen.value.load(ordering: .sequentiallyConsistent) >= mine)
            }
          }
        }
      }
    }
    #expect(await isFree(turns, 0))
  }

  private func isFree(_ turns: SharedTurns<Int>, _ key: Int) async -> Bool {
    let done = Counter()
    await turns.runIfFree(key) { done.value.add(1, ordering: .relaxed) }
    return done.value.load(ordering: .relaxed) == 1
  }

  private final class Counter: Sendable {
    let value = Atomic(0)
  }
}
