import Synchronization
import Testing

@testable import CrashDaemon

struct OutstandingTests {
  @Test("finish() waits for all work that began before it, and for no other work")
  func finish() async {
    let outstanding = Outstanding()
    await outstanding.finish()
    let ended = Atomic(0)
    for _ in 0..<3 { outstanding.begin() }
    let waiting = Task {
      await outstanding.finish()
      return ended.load(ordering: .relaxed)
    }
    for _ in 0..<3 {
      ended.add(1, ordering: .relaxed)
      outstanding.end()
    }
    #expect(await waiting.value == 3)
    await outstanding.finish()
  }
}
