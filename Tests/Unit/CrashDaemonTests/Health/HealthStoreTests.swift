import CrashProtocol
import CrashRing
import GRDB
import TestKit
import Testing

@testable import CrashDaemon
@testable import CrashStore

@Suite("Stored health")
struct HealthStoreTests {
  private let time = "2026-11-21T08:00:00.000000Z"

  private func change(
    _ build: String, uid: UInt32 = 1_000, program: String = "shop", isRestricted: Bool = false, hour: Int = 500_000,
    crashes: Int = 1, first: String? = nil, release: String? = nil
  ) -> HealthChange {
    var change = HealthChange(
      HealthKey(uid: uid, isRestricted: isRestricted, program: program, build: build), first: first ?? time, last: time)
    var counts = HealthCounts()
    (counts.time_ms, counts.crashes, counts.begun) = (3_600_000, crashes, 10)
    change.hours = [hour: counts]
    change.returns = [hour: [20: 1]]
    change.release = release
    return change
  }

  private func withStore(_ body: (ReportStore) throws -> Void) throws {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    try body(store)
    try store.close()
  }

  @Test("counts add up by build and hour, and each user sees only their own builds")
  func sums() throws {
    try withStore { store in
      try store.add(health: [change("aa", release: "1.0"), change("aa", hour: 500_001)], marks: [])
      try store.add(
        health: [change("aa"), change("bb", uid: 7), change("cc", isRestricted: true), change("dd", program: "mail")],
        marks: [])
      let all = try store.health()
      #expect(all.count == 4 && all.first { $0.key.build == "aa" }?.counts.crashes == 3)
      #expect(all.first { $0.key.build == "aa" }?.release == "1.0")
      #expect(try store.health(visibility: .user(1_000)).map(\.key.build).sorted() == ["aa", "dd"])
      #expect(try store.health(name: "SHO", visibility: .user(1_000)).map(\.key.build) == ["aa"])
      let late = try store.health(name: "shop", since: 500_001)
      #expect(late.map(\.counts.crashes) == [1] && late.first?.returns == [20: 1])
      let hours = try store.healthHours(of: try #require(all.first { $0.key.build == "aa" }).key)
      #expect(hours.map(\.hour) == [500_000, 500_001] && hours.map(\.counts.begun) == [20, 10])
    }
  }

  @Test("old hours are removed, and the sums of a build stay")
  func retention() throws {
    try withStore { store in
      try store.add(health: [change("aa", hour: 10), change("aa", hour: 5_000)], marks: [])
      try store.forgetHealth(hour: 10 + ReportStore.healthHours + 1)
      let key = try #require(try store.health().first).key
      #expect(try store.healthHours(of: key).map(\.hour) == [5_000])
      #expect(try store.health().first?.counts.crashes == 2)
      #expect(try store.health().first?.returns == [20: 1])
    }
  }

  @Test("a mark (the state of a process's counts) is read as it was stored, by user and ring")
  func marks() throws {
    try withStore { store in
      let key = HealthKey(uid: 5, isRestricted: false, program: "shop", build: "aa")
      var mark = HealthMark(key, ring: "0a", boot: "b", counted_ns: 77)
      (mark.begun, mark.finished, mark.failed, mark.last_s, mark.hasEnded) = (1, 2, 3, 4, true)
      try store.add(health: [], marks: [mark])
      #expect(try store.healthMark(key, ring: "0a") == mark)
      #expect(try store.healthMark(key, ring: "0b") == nil)
      let other = HealthKey(uid: 6, isRestricted: false, program: "shop", build: "aa")
      #expect(try store.healthMark(other, ring: "0a") == nil)
    }
  }

  @Test("a damaged mark of a process counts no impossible time, and crashd goes on")
  func damagedMark() async throws {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    let (clock, process) = (HealthClock(), try HealthProcess { $0.countRequests(begun: 4, finished: 3, failed: 0) })
    let numbers = ["\(Int.max)", "\(Int.min)", "9e999", "'x'"]
    for number in numbers {
      let book = HealthBook(store: store, clocks: clock.clocks, logger: TestLog.logger)
      book.attach(process.attached)
      clock.pass(1)
      await book.tick()
      try store.write { database in
        for column in ["counted_ns", "begun", "finished", "failed", "last_s"] {
          try database.execute(sql: "UPDATE health_processes SET \(column) = \(number), ended = 0")
        }
      }
      clock.pass(1)
      await book.tick()
      let next = HealthBook(store: store, clocks: clock.clocks, logger: TestLog.logger)
      next.attach(process.attached)
      await next.tick()
      try store.write { try $0.execute(sql: "UPDATE health_processes SET last_s = \(number), ended = 0") }
      await next.spooled(process.attached, crash_ns: clock.clocks.wall_ns())
      try store.write { try $0.execute(sql: "UPDATE health_processes SET ended = 0") }
    }
    let counts = try #require(try store.health().first).counts
    #expect(counts.crashes == numbers.count && 0...HealthCounts.most ~= counts.begun)
    try store.close()
  }

  @Test("a build is named by its id, its release or the beginning of its id, within one program")
  func selection() throws {
    try withStore { store in
      try store.add(
        health: [
          change("aa11", first: "2026-11-21T01:00:00.000000Z", release: "1.0"),
          change("aa22", first: "2026-11-21T02:00:00.000000Z", release: "1.1"),
          change("bb33", first: "2026-11-21T03:00:00.000000Z", release: "1.1"),
          change("cc44", program: "mail", first: "2026-11-21T04:00:00.000000Z", release: "1.0"),
        ], marks: [])
      let builds = try store.health()
      func pair(_ new: String?, _ old: String?) -> [String]? {
        (try? CrashdInterface.pair(new, old, in: builds)).map { [$0.new.build, $0.old.build] }
      }
      #expect(pair("aa22", "aa11") == ["aa22", "aa11"] && pair("bb", nil) == ["bb33", "aa22"])
      #expect(pair(nil, "aa11") == ["bb33", "aa11"])
      // Two builds of one program have the release 1.1; the newest one is selected.
      #expect(pair("1.1", "aa1") == ["bb33", "aa11"])
      // No pair is found: two programs have the release 1.0, the ids of two builds begin with aa, zz and the empty
      // string match no build, and no build precedes the first build.
      for new in ["1.0", "aa", "zz", "", "aa11", "cc44"] { #expect(pair(new, nil) == nil, "\(new)") }
      #expect(pair("bb33", "cc44") == nil)
      #expect(throws: ProtocolError.noSuchBuild("zz")) { try CrashdInterface.pair("zz", nil, in: builds) }
    }
  }
}
