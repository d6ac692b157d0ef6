import CrashProtocol
import CrashReport
import FoundationEssentials
import GRDB
import TestKit
import Testing

@testable import CrashStore

@Suite("Shares of users")
struct FairShareTests {
  private static let now_ns: UInt64 = 1_800_000_000_000_000_000

  private func report(_ number: Int, uid: Int, bytes: Int = 0) -> CrashReport {
    let time = Timestamp.string(since1970_ns: Self.now_ns + UInt64(number) * 1_000_000)
    let digits = String(1_000_000 + number)
    var report = CrashReport(
      id: "\(uid)ab\(digits)", time: time,
      process: CrashReport.ProcessIdentity(
        pid: 7, uid: uid, name: "shop", executable: "/srv/shop", buildID: "aa", startTime: time),
      signal: CrashReport.Signal(number: 4, name: "SIGILL", code: 2, codeName: "ILL_ILLOPN"), reason: "",
      diagnosis: CrashReport.Diagnosis(cause: "c", sentence: "s", rule: "r", confidence: 1), threads: [], images: [],
      group: CrashReport.Group(key: "cafe", title: "title"))
    if bytes > 0 { report.breadcrumbs = [.init(time: "", text: String(repeating: "x", count: bytes))] }
    return report
  }

  private func incident(_ key: String, uid: Int, last: String) -> IncidentReport {
    IncidentReport(
      id: key, first: last, last: last, count: 1,
      process: IncidentReport.Process(
        pid: 7, uid: uid, name: "shop", executable: "/srv/shop", buildID: "aa"),
      source: "guard", kind: "k", mode: "absorb", subject: "s", sentence: "s", confidence: "certain")
  }

  private func withStore(_ share: FairShare = FairShare(), _ body: (ReportStore) throws -> Void) throws {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite", fairShare: share)
    try body(store)
    try store.close()
  }

  private func retain(_ store: ReportStore, bytes: Int) throws {
    var policy = RetentionPolicy()
    (policy.bytes, policy.reportsPerGroup, policy.keepFreeBytes) = (bytes, 10_000, 0)
    while try store.retain(policy, now_ns: Self.now_ns) != nil {}
  }

  @Test("F9: 300 large reports of one user do not evict 400 small reports of another user")
  func bytes() throws {
    try withStore { store in
      for number in 0..<400 { _ = try store.put(report(number, uid: 0), raw: []) }
      for number in 0..<300 {
        _ = try store.put(report(number, uid: 65_534, bytes: 40_000), raw: [])
        if number % 50 == 49 { try retain(store, bytes: 4 << 20) }
      }
      #expect(try store.count(visibility: .user(0)) == 400)
      let left = try store.count(visibility: .user(65_534))
      #expect(left > 0 && left < 100)
    }
  }

  @Test("F9: an amended report is charged to its owner with its new size")
  func amended() throws {
    try withStore { store in
      var amended = report(1, uid: 1_000)
      _ = try store.put(amended, raw: [1, 2])
      let cursor = try store.newestCursor()
      for text in [String(repeating: "x", count: 40_000), "x"] {
        amended.breadcrumbs = [.init(time: "", text: text)]
        #expect(try store.amend(amended, at: cursor))
        let bytes = try store.opened.pool.read { database in
          try [
            "SELECT length(json) + 2 FROM reports", "SELECT bytes FROM user_shares", "SELECT bytes FROM group_reports",
          ]
          .map { try Int.fetchOne(database, sql: $0) }
        }
        #expect(bytes[0] != nil && Set(bytes).count == 1)
      }
      _ = try store.remove(idPrefix: amended.id)
      let rest = try store.opened.pool.read { try Int.fetchOne($0, sql: "SELECT bytes FROM user_shares") }
      #expect(rest ?? 0 == 0)
    }
  }

  @Test("F9: uids that are charged to one account have one share of the store")
  func ranges() throws {
    // The uids 100,000 to 165,535 are the subordinate range of user 1,000.
    let share = FairShare { $0 >= 100_000 && $0 < 165_536 ? 1_000 : $0 }
    try withStore(share) { store in
      for number in 0..<100 { _ = try store.put(report(number, uid: 0, bytes: 10_000), raw: []) }
      for number in 0..<300 { _ = try store.put(report(number, uid: 100_000 + number, bytes: 10_000), raw: []) }
      try retain(store, bytes: 3 << 20)
      #expect(try store.count(visibility: .user(0)) == 100)
    }
  }

  @Test("F9: a report that is too large is stored without its raw record and other threads, and states this")
  func tooLarge() throws {
    var large = report(1, uid: 0)
    large.threads = [
      CrashReport.CrashedThread(tid: 1, name: "main", crashed: true, frames: []),
      CrashReport.CrashedThread(
        tid: 2, name: String(repeating: "x", count: 2_000), crashed: false, frames: []),
    ]
    let whole = try SizedReport(large, raw: [UInt8](repeating: 1, count: 500), limitBytes: 8_000)
    #expect(whole.report == large && whole.raw.count == 500)
    let bare = try SizedReport(large, raw: [UInt8](repeating: 1, count: 8_000), limitBytes: 8_000)
    #expect(bare.raw.isEmpty && bare.report.threads.count == 2 && bare.report.losses == ["rawRecord": 1])
    let alone = try SizedReport(large, raw: [], limitBytes: 2_000)
    #expect(alone.report.threads.map(\.tid) == [1] && alone.report.losses["threadsTooLarge"] == 1)
    // The requests in flight are dropped last. Their number remains in the report.
    let request = CrashReport.Request(
      number: 1, operation: String(repeating: "x", count: 96), startTime: large.time, age_ns: 1)
    var busy = large
    busy.inFlight = CrashReport.InFlight(
      total: 99, overflow: 0, requests: [CrashReport.Request](repeating: request, count: 99))
    let reduced = try SizedReport(busy, raw: [], limitBytes: 8_000)
    #expect(reduced.report.threads.map(\.tid) == [1] && reduced.report.losses["requestsTooLarge"] == 99)
    #expect(reduced.report.inFlight == CrashReport.InFlight(total: 99, overflow: 0, requests: []))
    #expect(reduced.json.count < 8_000)
    // A later analysis copies the requests of the stored report, so its report also states that requests are missing.
    var again = reduced.report
    again.losses = [:]
    #expect(try SizedReport(again, raw: [], limitBytes: 8_000).report.losses == ["requestsTooLarge": 99])
    #expect(alone.json.count <= 2_000)
  }

  @Test("F13: a flood of one user's incidents does not evict another user's, whatever times they claim")
  func incidents() throws {
    try withStore { store in
      let early = "2026-11-21T08:00:00.000000Z"
      try store.put(incidents: (0..<20).map { incident("root-\($0)", uid: 0, last: early) })
      // The many incidents of the other user (the flood) claim to be the latest: their time is in the year 2554.
      for look in 0..<48 {
        let flood = (0..<256).map { incident("f-\(look)-\($0)", uid: 65_534, last: "2554-07-21T00:00:00.000000Z") }
        try store.put(incidents: flood)
      }
      #expect(try store.incidents(visibility: .user(0), limit: 100).count == 20)
      #expect(try store.incidents(visibility: .user(65_534), limit: 20_000).count == ReportStore.incidentLimit - 20)
      // Of the flood, the store has evicted the incidents that it stored first.
      let ids = Set(try store.incidents(visibility: .user(65_534), limit: 20_000).map(\.id))
      #expect(!ids.contains("f-0-0") && ids.contains("f-47-255"))
    }
  }

  @Test("an incident that occurs again counts as one of the latest when incidents are evicted")
  func again() throws {
    try withStore { store in
      let time = "2026-11-21T08:00:00.000000Z"
      try store.put(incidents: [incident("a", uid: 0, last: time), incident("b", uid: 0, last: time)])
      try store.put(incidents: [incident("a", uid: 0, last: time)])
      #expect(try store.incidents(limit: 9).map(\.id) == ["a", "b"])
    }
  }

  @Test("the store's limit is divided so that a user with less than its part keeps all data")
  func division() {
    let share = FairShare()
    #expect(share.surplus(of: [1: 10, 2: 10], limit: 20) == [:])
    #expect(share.surplus(of: [1: 2, 2: 100], limit: 20) == [2: 82])
    #expect(share.surplus(of: [1: 2, 2: 100, 3: 50], limit: 22) == [2: 90, 3: 40])
    #expect(share.surplus(of: [1: 5], limit: 0) == [1: 5])
    #expect(share.surplus(of: [:], limit: 5) == [:])
    #expect(share.largest(of: [1: 3, 2: 7, 3: 7]) == 2)
    #expect(share.largest(of: [:]) == nil)
    let charged = FairShare { $0 >= 10 ? 1 : $0 }
    #expect(charged.largest(of: [1: 3, 2: 7, 10: 4, 11: 5]) == 11)
    #expect(charged.surplus(of: [2: 10, 10: 10, 11: 10], limit: 20) == [10: 5, 11: 5])
  }
}
