import CrashProtocol
import CrashReport
import FoundationEssentials
import TestKit
import Testing

@testable import CrashStore

@Suite("Retention")
struct RetentionTests {
  private static let now_ns: UInt64 = 1_800_000_000_000_000_000
  private static let now = Timestamp.string(since1970_ns: now_ns)

  /// Creates one report.
  ///
  /// Uses random ids, because the ids of rings are random.
  private func report(
    _ id: String? = nil, group: String = "cafe", uid: Int = 1000, secondsAgo: Int = 0, build: String = "aa",
    bytes: Int = 0
  ) -> CrashReport {
    let time = Timestamp.string(since1970_ns: Self.now_ns - UInt64(secondsAgo) * 1_000_000_000)
    var report = CrashReport(
      id: id ?? randomID(), time: time,
      process: CrashReport.ProcessIdentity(
        pid: 7, uid: uid, name: "shop", executable: "/srv/shop", buildID: build, startTime: time),
      signal: CrashReport.Signal(number: 4, name: "SIGILL", code: 2, codeName: "ILL_ILLOPN"), reason: "",
      diagnosis: CrashReport.Diagnosis(cause: "c", sentence: "s", rule: "r", confidence: 1), threads: [], images: [],
      group: CrashReport.Group(key: group, title: "title"))
    if bytes > 0 { report.breadcrumbs = [.init(time: "", text: String(repeating: "x", count: bytes))] }
    return report
  }

  private func randomID() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<2).map { _ in
      let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  @Test("the newest report of a program is found by its user, executable and name")
  func newest() throws {
    try withStore { store in
      func put(_ id: String, secondsAgo: Int, _ change: (inout CrashReport) -> Void = { _ in }) throws {
        var stored = report(id, secondsAgo: secondsAgo)
        change(&stored)
        _ = try store.put(stored, raw: [])
      }
      try put("a1", secondsAgo: 9)
      try put("a2", secondsAgo: 8)
      try put("b1", secondsAgo: 7) { $0.process.uid = 1001 }
      try put("c1", secondsAgo: 6) { $0.process.name = "shop-admin" }
      try put("d1", secondsAgo: 5) { $0.process.executable = "/srv/shop2" }
      func id(_ uid: UInt32, _ executable: String = "/srv/shop", _ name: String = "shop") throws -> String? {
        try store.newest(uid: uid, executable: executable, name: name)?.id
      }
      #expect(try id(1000) == "a2" && id(1001) == "b1" && id(1000, "/srv/shop", "shop-admin") == "c1")
      #expect(try id(1000, "/srv/shop2") == "d1" && id(1002) == nil && id(1000, "/srv") == nil)
    }
  }

  private func withStore(_ body: (ReportStore) throws -> Void) throws {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    try body(store)
    try store.close()
  }

  /// Runs all steps of retention, and returns the number of pruned reports for each reason.
  private func retain(
    _ store: ReportStore, keepsOld: Bool = false, freeBytes: Int? = nil, _ change: (inout RetentionPolicy) -> Void
  ) throws -> [RetentionReason: Int] {
    var policy = RetentionPolicy()
    change(&policy)
    var counts: [RetentionReason: Int] = [:]
    while let step = try store.retain(policy, now_ns: Self.now_ns, keepsOld: keepsOld, freeBytes: freeBytes) {
      if case .removed(let count, let reason) = step { counts[reason, default: 0] += count }
    }
    try store.forgetHistory(policy, now_ns: Self.now_ns)
    return counts
  }

  @Test("a growing group keeps at most its limit of reports, and an exact count")
  func group() throws {
    try withStore { store in
      // The last report of the array is the newest.
      let reports = (0..<300).map { report(secondsAgo: 300 - $0, build: $0 < 10 ? "old" : "aa") }
      let before = try store.newestCursor()
      for (index, report) in reports.enumerated() {
        _ = try store.put(report, raw: [1])
        // Retention also runs while the group grows.
        if index % 70 == 0 { _ = try retain(store) { $0.reportsPerGroup = 40 } }
      }
      _ = try store.put(report(group: "beef"), raw: [])
      _ = try retain(store) { $0.reportsPerGroup = 40 }
      #expect(try store.count() == 41)
      let groups = try store.groups(limit: 9)
      #expect(groups.map(\.key) == ["beef", "cafe"] && groups.map(\.count) == [1, 300])
      let group = try #require(groups.last)
      #expect(group.first == reports.first?.time && group.last == reports.last?.time)
      #expect(group.builds == 2 && group.firstBuild == "old" && group.report == reports.last?.id)
      // The newest reports, a quarter of the limit of 40, are always kept.
      for report in reports.suffix(10) { #expect(try store.report(idPrefix: report.id).report == report) }
      #expect(try store.removed(after: before) == .init(count: 260, isExact: true))
      // Retention removes a raw record together with its report.
      let gone = try #require(reports.first { (try? store.report(idPrefix: $0.id)) == nil })
      #expect(try store.raw(id: gone.id) == nil)
    }
  }

  @Test("the older reports that a group keeps are a random sample of all older reports")
  func sample() throws {
    try withStore { store in
      var ages: [String: Int] = [:]
      for index in 0..<1_200 {
        let report = report(secondsAgo: 1_200 - index)
        ages[report.id] = index
        _ = try store.put(report, raw: [])
        if index % 50 == 0 { _ = try retain(store) { $0.reportsPerGroup = 80 } }
      }
      _ = try retain(store) { $0.reportsPerGroup = 80 }
      let kept = try store.list(limit: 100).compactMap { ages[$0.id] }.sorted()
      #expect(kept.count == 80)
      // Of the 1,180 older reports, retention keeps 60 at random. Only in one of 10¹⁰ runs are fewer than 10 or more
      // than 50 of these 60 from the first half.
      let early = kept.prefix(60).count { $0 < 590 }
      #expect((10...50).contains(early))
    }
  }

  @Test("reports are pruned by age, and their events are pruned later")
  func age() throws {
    try withStore { store in
      for age in [100, 2_000, 3_000] { _ = try store.put(report(secondsAgo: age), raw: []) }
      #expect(try retain(store, keepsOld: true) { $0.age_s = 1_000 } == [:])
      #expect(try retain(store) { $0.age_s = 1_000 } == [.age: 2])
      #expect(try store.groups(limit: 9).map(\.count) == [3])
      var policy = RetentionPolicy()
      policy.history_s = 1_500
      try store.forgetHistory(policy, now_ns: Self.now_ns)
      let counts = try store.groups(limit: 9).map(\.count)
      #expect(counts == [1])
    }
  }

  @Test("a group without remaining reports keeps its count, and has no newest report")
  func onlyHistory() throws {
    try withStore { store in
      _ = try store.put(report(secondsAgo: 5_000), raw: [])
      _ = try retain(store) { $0.age_s = 1_000 }
      let group = try #require(try store.groups(limit: 9).first)
      #expect(group.count == 1 && group.report.isEmpty && group.title == "title" && group.names == ["shop"])
      let early = Timestamp.string(since1970_ns: Self.now_ns - 1_000_000_000_000)
      #expect(try store.groups(ReportFilter(since: early), limit: 9).isEmpty)
      #expect(try store.setResolved(true, group: "ca", at: Self.now) == "cafe")
      #expect(try store.groups(limit: 9).map(\.state) == ["resolved"])
    }
  }

  @Test("a store above its size limit prunes the oldest reports of the user with the most")
  func bytes() throws {
    try withStore { store in
      let quiet = report(group: "beef", uid: 1001, secondsAgo: 900)
      _ = try store.put(quiet, raw: [])
      for index in 0..<100 {
        _ = try store.put(report(group: "cafe", secondsAgo: 100 - index, bytes: 20_000), raw: [])
      }
      let counts = try retain(store) { policy in
        policy.bytes = 1_000_000
        policy.reportsPerGroup = 1_000
      }
      let removed = try #require(counts[.bytes])
      #expect((50...90).contains(removed))
      #expect(try store.report(idPrefix: quiet.id).report == quiet)
      #expect(try store.groups(limit: 9).map(\.count).sorted() == [1, 100])
      // The file does not grow, because SQLite reuses the pages that retention has freed.
      let size = try store.sizeBytes()
      for _ in 0..<20 { _ = try store.put(report(bytes: 20_000), raw: []) }
      #expect(try store.sizeBytes() <= size)
    }
  }

  @Test("retention on a full file system frees space, down to the store's minimum size")
  func keepFree() throws {
    try withStore { store in
      for index in 0..<200 { _ = try store.put(report(secondsAgo: 200 - index, bytes: 20_000), raw: []) }
      let full = try store.sizeBytes()
      let counts = try retain(store, freeBytes: 0) { policy in
        policy.keepFreeBytes = 1 << 40
        policy.minimumBytes = 1 << 20
        policy.reportsPerGroup = 1_000
      }
      #expect(counts[.keepFree] ?? 0 > 100)
      let size = try store.sizeBytes()
      #expect(size < full / 2 && size > 500_000)
      #expect(try store.count() > 20)
      #expect(try retain(store, freeBytes: 1 << 41) { $0.keepFreeBytes = 1 << 40 } == [:])
    }
  }

  @Test("retention keeps reports that a subscriber has not read, up to ten times the group's limit")
  func readers() throws {
    try withStore { store in
      _ = try store.enter(subscriber: "mail", uid: 1000, at: Self.now)
      var ids: [String] = []
      for index in 0..<60 {
        let report = report(secondsAgo: 600 - index)
        ids.append(report.id)
        _ = try store.put(report, raw: [])
      }
      #expect(try retain(store) { $0.reportsPerGroup = 8 } == [:])
      let read = StoreCursor(epoch: store.epoch, sequence: 30)
      _ = try store.acknowledge(read, subscriber: "mail", uid: 1000, at: Self.now)
      // Retention checks the group again after the acknowledgment, even if no further report was stored.
      #expect(try retain(store) { $0.reportsPerGroup = 8 } == [.group: 30])
      #expect(try store.events(after: read, limit: 100).map(\.id) == Array(ids[30...]))
      for index in 60..<120 { _ = try store.put(report(secondsAgo: 600 - index), raw: []) }
      _ = try retain(store) { $0.reportsPerGroup = 8 }
      #expect(try store.count() < 90)
      #expect(try store.groups(limit: 9).map(\.count) == [120])
    }
  }

  @Test("a pruned report is not stored again when more of its process is read later")
  func late() throws {
    try withStore { store in
      var old = report(secondsAgo: 5_000)
      _ = try store.put(old, raw: [])
      _ = try retain(store) { $0.age_s = 1_000 }
      old.losses = ["torn": 1]
      #expect(try store.put(old, raw: []) == .unchanged)
      #expect(try store.count() == 0)
      #expect(try store.groups(limit: 9).map(\.count) == [1])
      // A report of the same crash for another user is a separate report.
      old.process.uid = 1001
      #expect(try store.put(old, raw: []) != .unchanged)
    }
  }

  @Test("a removed report is not counted in its group; a user cannot remove another user's report")
  func remove() throws {
    try withStore { store in
      for id in ["aa", "bb"] { _ = try store.put(report(id), raw: [1]) }
      #expect(throws: StoreError.noSuchReport(id: "aa")) {
        try store.remove(idPrefix: "aa", visibility: .user(1001))
      }
      #expect(throws: StoreError.noSuchReport(id: "")) { try store.remove(idPrefix: "") }
      #expect(try store.remove(idPrefix: "a", visibility: .user(1000)) == "aa")
      #expect(try store.groups(limit: 9).map(\.count) == [1])
      #expect(try store.list(limit: 9).map(\.id) == ["bb"])
    }
  }

  @Test("the count of events that were pruned long ago is still available")
  func tallies() throws {
    try withStore { store in
      let start = try store.newestCursor()
      for index in 0..<2_500 {
        _ = try store.put(report(uid: index % 5 == 0 ? 1001 : 1000, secondsAgo: 5_000 - index), raw: [])
      }
      _ = try retain(store) { $0.age_s = 1_000 }
      let all = try store.removed(after: start)
      #expect(all == .init(count: 2_500, isExact: true))
      try store.foldRemoved(beyond: 1_000)
      #expect(try store.removed(after: start) == .init(count: 2_500, isExact: false))
      #expect(try store.removed(after: start, visibility: .user(1001)) == .init(count: 500, isExact: false))
      // Counts of long ago are stored in blocks. For a cursor inside a block, the count can be too high, but never too
      // low.
      let middle = StoreCursor(epoch: store.epoch, sequence: 500)
      let late = try store.removed(after: middle)
      #expect((2_000...2_500).contains(late.count) && !late.isExact)
      let recent = StoreCursor(epoch: store.epoch, sequence: 2_400)
      #expect(try store.removed(after: recent) == .init(count: 100, isExact: true))
    }
  }
}
