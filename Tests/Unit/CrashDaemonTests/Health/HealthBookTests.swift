import CShimRing
import CrashRing
import CrashStore
import Glibc
import Synchronization
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Health of builds")
struct HealthBookTests {
  private let clock = HealthClock()
  private let directory: TestDirectory
  private let store: ReportStore

  init() throws {
    directory = try TestDirectory()
    store = try ReportStore(path: directory.path + "/r.sqlite")
  }

  private func book() -> HealthBook { HealthBook(store: store, clocks: clock.clocks, logger: TestLog.logger) }

  private func counts(_ build: String = "aa") throws -> HealthCounts {
    try #require(try store.health().first { $0.key.build == build }).counts
  }

  /// Ends a process at the current time.
  private func end(_ process: HealthProcess, in book: HealthBook, isCrash: Bool?) async {
    process.attached.endTime_ns.store(clock.clocks.monotonic_ns(), ordering: .relaxed)
    await book.end(process.attached, isCrash: isCrash)
  }

  @Test("running time and requests are counted once, while the process runs and at its crash")
  func once() async throws {
    let book = book()
    var process = try HealthProcess()
    book.attach(process.attached)
    clock.pass(60)
    try process.count(begun: 10, finished: 7, failed: 1)
    await book.tick()
    await book.tick()
    var expected = HealthCounts()
    (expected.time_ms, expected.begun, expected.finished, expected.failed) = (60_000, 10, 7, 1)
    #expect(try counts() == expected)
    clock.pass(5)
    try process.count(begun: 14, finished: 9, failed: 1)
    await end(process, in: book, isCrash: true)
    (expected.time_ms, expected.begun, expected.finished, expected.lost, expected.crashes) = (65_000, 14, 9, 4, 1)
    #expect(try counts() == expected)
    // After a restart, the next crashd can receive the end of the same process again.
    let next = self.book()
    next.attach(process.attached)
    clock.pass(60)
    await next.end(process.attached, isCrash: true)
    await next.tick()
    #expect(try counts() == expected)
  }

  @Test("requests in flight at a normal exit are not counted as lost")
  func exit() async throws {
    let book = book()
    let process = try HealthProcess { $0.countRequests(begun: 5, finished: 2, failed: 0) }
    book.attach(process.attached)
    await end(process, in: book, isCrash: false)
    let counts = try counts()
    #expect(counts.lost == 0 && counts.crashes == 0 && counts.begun == 5)
  }

  @Test("the request whose trap began a drain is counted as lost, and those that the drain finished are not")
  func drain() async throws {
    let book = book()
    // One trap was contained before. The second trap began a drain, which finished all other requests.
    let process = try HealthProcess { ring in
      ring.addRequest(0, number: 1, operation: "GET /a")
      ring.trapRequest(0)
      ring.addRequest(1, number: 2, operation: "GET /b")
      ring.trapRequest(1)
      ring.countRequests(begun: 9, finished: 7, failed: 2)
      ring.setDrain(1)
      ring.set(\.containment_count, 1)
    }
    book.attach(process.attached)
    await end(process, in: book, isCrash: true)
    let counts = try counts()
    #expect(counts.lost == 1 && counts.failed == 1 && counts.finished == 7 && counts.begun == 9)
  }

  @Test("the next crashd counts the rest of a process, and the time between the two crashds")
  func restart() async throws {
    let first = book()
    var process = try HealthProcess()
    try process.count(begun: 3, finished: 3, failed: 0)
    first.attach(process.attached)
    clock.pass(30)
    await first.tick()
    clock.pass(100)
    let second = book()
    try process.count(begun: 8, finished: 4, failed: 0)
    second.attach(process.attached)
    clock.pass(10)
    await second.tick()
    var expected = HealthCounts()
    (expected.time_ms, expected.begun, expected.finished) = (140_000, 8, 4)
    #expect(try counts() == expected)
  }

  @Test("a process that ended while crashd did not run is counted up to the last count, with all its requests")
  func endedMeanwhile() async throws {
    let first = book()
    var process = try HealthProcess()
    first.attach(process.attached)
    clock.pass(30)
    await first.tick()
    clock.pass(1_000)
    try process.count(begun: 6, finished: 1, failed: 0)
    let second = book()
    let kept = AttachedProcess(
      number: 9, facts: process.attached.facts, ring: process.attached.ring, hadEnded: true)
    second.attach(kept)
    await second.end(kept, isCrash: true)
    let counts = try counts()
    #expect(counts.time_ms == 30_000 && counts.begun == 6 && counts.lost == 5 && counts.crashes == 1)
  }

  @Test("a step of the wall clock does not change the running time")
  func clockStep() async throws {
    let book = book()
    let process = try HealthProcess()
    book.attach(process.attached)
    clock.pass(50)
    clock.times.withLock { $0.wall -= 40_000 }
    await book.tick()
    clock.times.withLock { $0.wall += 90_000 }
    clock.pass(10)
    await book.tick()
    #expect(try counts().time_ms == 60_000)
  }

  @Test("the time since a mark (a process's stored state) is not counted if the mark is from another boot")
  func otherBoot() async throws {
    let first = book()
    let process = try HealthProcess()
    clock.pass(100_000)
    first.attach(process.attached)
    clock.pass(1)
    await first.tick()
    // The ring of a spool file can be from an earlier boot.
    clock.boot.withLock { $0 = "second" }
    clock.times.withLock { $0.monotonic = 5 }
    let second = book()
    second.attach(process.attached)
    clock.pass(2)
    await second.tick()
    #expect(try counts().time_ms == 3_000)
  }

  @Test("two connections with the same ring are one process")
  func reconnected() async throws {
    let book = book()
    let process = try HealthProcess { $0.countRequests(begun: 2, finished: 0, failed: 0) }
    book.attach(process.attached)
    clock.pass(10)
    let again = AttachedProcess(number: 6, facts: process.attached.facts, ring: process.attached.ring)
    book.attach(again)
    await end(process, in: book, isCrash: nil)
    clock.pass(10)
    await book.end(again, isCrash: true)
    let counts = try counts()
    #expect(counts.time_ms == 20_000 && counts.begun == 2 && counts.lost == 2 && counts.crashes == 1)
  }

  @Test("a spool file is counted once, with the time since the last count or the start of the process")
  func spooled() async throws {
    let book = book()
    let start = try HealthProcess().attached.facts.identity.startTime_ns
    var process = try HealthProcess { $0.countRequests(begun: 4, finished: 3, failed: 0) }
    await book.spooled(process.attached, crash_ns: start + 7_000_000_000)
    await book.spooled(process.attached, crash_ns: start + 7_000_000_000)
    var counts = try counts()
    #expect(counts.time_ms == 7_000 && counts.begun == 4 && counts.lost == 1 && counts.crashes == 1)
    process = try HealthProcess(2)
    book.attach(process.attached)
    clock.pass(20)
    await book.tick()
    let crash_ns = clock.clocks.wall_ns() + 5_000_000_000
    await self.book().spooled(process.attached, crash_ns: crash_ns)
    counts = try self.counts()
    #expect(counts.time_ms == 32_000 && counts.crashes == 2)
  }

  @Test("while the store fails, counts wait, and nothing is counted twice")
  func outage() async throws {
    let path = directory.path + "/other.sqlite"
    let store = try ReportStore(path: path)
    let book = HealthBook(store: store, clocks: clock.clocks, logger: TestLog.logger)
    let (process, other) = (
      try HealthProcess { $0.countRequests(begun: 3, finished: 1, failed: 0) }, try HealthProcess(2)
    )
    book.attach(process.attached)
    book.attach(other.attached)
    clock.pass(10)
    await book.tick()
    try store.close()
    clock.pass(10)
    await end(process, in: book, isCrash: true)
    await book.tick()
    #expect(book.state.withLock { $0.ends.count } == 1)
    let again = try ReportStore(path: path)
    let next = HealthBook(store: again, clocks: clock.clocks, logger: TestLog.logger)
    next.state.withLock { $0 = book.state.withLock { $0 } }
    await next.tick()
    let counts = try #require(try again.health().first).counts
    #expect(counts.time_ms == 40_000 && counts.begun == 3 && counts.lost == 2 && counts.crashes == 1)
    try again.close()
  }

  @Test("running time during which another build of the program also ran is also counted as shared time")
  func shared() async throws {
    let book = book()
    let (old, new) = (try HealthProcess(1, build: "aa", number: 4), try HealthProcess(2, build: "bb", number: 6))
    book.attach(old.attached)
    clock.pass(100)
    await book.tick()
    book.attach(new.attached)
    clock.pass(10)
    await book.tick()
    #expect(try counts("aa").time_ms == 110_000 && counts("aa").shared_ms == 10_000)
    #expect(try counts("bb").time_ms == 10_000 && counts("bb").shared_ms == 10_000)
    #expect(book.running().values.sorted() == [1, 1])
  }

  @Test("a time is divided among its hours")
  func hours() {
    // The time ends 10 minutes after the start of hour 100, and has 80 minutes.
    let parts = HealthBook.hours(endingAt: Moment(nanoseconds: (100 * 3_600 + 600) * 1_000_000_000), 80 * 60_000)
    #expect(parts.map(\.hour) == [100, 99, 98] && parts.map(\.time_ms) == [600_000, 3_600_000, 600_000])
    let long = HealthBook.hours(endingAt: Moment(nanoseconds: .max), .max)
    #expect(long.count <= ReportStore.healthHours + 1)
  }

  @Test("the time until a program is back is the time from a crash to the next process of the unit")
  func back() async throws {
    let book = book()
    let (first, second) = (try HealthProcess(1), try HealthProcess(2, number: 6))
    book.attach(first.attached)
    await end(first, in: book, isCrash: true)
    clock.pass(3)
    book.attach(second.attached)
    await book.tick()
    let returns = try #require(try store.health().first).returns
    #expect(returns == [ReturnBucket.of(3_000): 1])
    #expect(ReturnBucket.median_ms(returns).map { abs($0 - 3_000) < 500 } == true)
  }
}
