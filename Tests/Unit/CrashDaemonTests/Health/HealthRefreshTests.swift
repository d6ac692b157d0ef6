import CrashStore
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Refreshes of the health of builds")
struct HealthRefreshTests {
  private let clock = HealthClock()
  private let directory: TestDirectory
  private let store: ReportStore

  init() throws {
    directory = try TestDirectory()
    store = try ReportStore(path: directory.path + "/r.sqlite")
  }

  /// The number of requests that the store has counted.
  ///
  /// A tick (crashd's periodic count) adds the requests that have begun since the previous tick.
  private var begun: Int { get throws { try store.health().first?.counts.begun ?? 0 } }

  @Test("many refreshes within a second are one tick, and the next second has one more")
  func limit() async throws {
    let book = HealthBook(store: store, clocks: clock.clocks, logger: TestLog.logger)
    var process = try HealthProcess()
    book.attach(process.attached)
    var seen: [Int] = []
    for second in 0..<3 {
      for call in 1...5 {
        try process.count(begun: UInt64(second * 5 + call), finished: 0, failed: 0)
        await book.refresh()
        try seen.append(begun)
      }
      clock.pass(1)
    }
    // Only the first refresh of each second made a tick, when 1, 6 and 11 requests had begun.
    #expect(seen == [1, 6, 11].flatMap { [Int](repeating: $0, count: 5) })
  }

  @Test("a refresh right after a tick of crashd itself is no tick, and a tick is never skipped")
  func ticks() async throws {
    let book = HealthBook(store: store, clocks: clock.clocks, logger: TestLog.logger)
    var process = try HealthProcess { $0.countRequests(begun: 1, finished: 0, failed: 0) }
    book.attach(process.attached)
    await book.tick()
    try process.count(begun: 2, finished: 0, failed: 0)
    await book.refresh()
    #expect(try begun == 1)
    await book.tick()
    #expect(try begun == 2)
  }

  @Test("refreshes at the same time all wait for the tick")
  func together() async throws {
    let book = HealthBook(store: store, clocks: clock.clocks, logger: TestLog.logger)
    let process = try HealthProcess { $0.countRequests(begun: 3, finished: 0, failed: 0) }
    book.attach(process.attached)
    let store = store
    let counts = try await withThrowingTaskGroup(of: Int?.self) { group in
      for _ in 0..<32 {
        group.addTask {
          await book.refresh()
          return try store.health().first?.counts.begun
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(counts == [Int?](repeating: 3, count: 32))
  }
}
