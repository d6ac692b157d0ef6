import CrashProtocol
import CrashReport
@testable import CrashStore
import TestKit
import Testing

@Suite("Preliminary reports, which are listed but not stored yet")
struct PreliminaryReportTests {
  private static func report(_ digit: Int, uid: Int = 1_000, signal: String = "SIGILL") -> CrashReport {
    let time = "2026-11-21T08:00:0\(digit).000000Z"
    var process = CrashReport.ProcessIdentity(
      pid: digit, uid: uid, name: "shop", executable: "/srv/shop", buildID: "ff", startTime: time)
    process.unit = "shop.service"
    return CrashReport(
      id: "\(digit)\(digit)ab", time: time, process: process,
      signal: CrashReport.Signal(number: 4, name: signal, code: 2, codeName: "ILL_ILLOPN", address: 0x1000),
      reason: "", diagnosis: CrashReport.Diagnosis(cause: "c", sentence: "s", rule: "r", confidence: 1),
      threads: [CrashReport.CrashedThread(tid: 8, name: "main", crashed: true, frames: [])], images: [],
      group: CrashReport.Group(key: "ab\(digit)", title: "t"))
  }

  private static func preliminary(_ digit: Int, uid: Int = 1_000) -> CrashReport {
    var report = report(digit, uid: uid)
    report.isPreliminary = true
    report.group = CrashReport.Group(key: "", title: "")
    return report
  }

  private func withStore(_ body: (ReportStore) throws -> Void) throws {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    for digit in 1...3 { _ = try store.put(Self.report(digit), raw: []) }
    try body(store)
    try store.close()
  }

  /// Returns the numbers of all reports in a list, which it reads in pages of `limit` reports.
  private func pages(_ store: ReportStore, _ early: [CrashReport], limit: Int, isOldestFirst: Bool) throws -> [Int] {
    var (digits, cursor): ([Int], StoreCursor?) = ([], nil)
    while true {
      let page = try store.page(
        with: early, before: isOldestFirst ? nil : cursor, after: isOldestFirst ? cursor : nil,
        isOldestFirst: isOldestFirst, limit: limit, counts: true)
      digits += page.reports.map(\.pid)
      guard let last = page.reports.last else { return digits }
      #expect(page.more == (isOldestFirst ? 3 : 5) - digits.count)
      // Parses the cursor from its string, as crashd does with a client's cursor.
      let next = try #require(StoreCursor(last.cursor, of: store.epoch))
      cursor = next
    }
  }

  @Test(
    "first crash: a list shows preliminary reports as the newest, on any page", arguments: [1, 2, 3, 4, 5, 9])
  func pages(limit: Int) throws {
    try withStore { store throws in
      let early = [Self.preliminary(5), Self.preliminary(4)]
      #expect(try pages(store, early, limit: limit, isOldestFirst: false) == [5, 4, 3, 2, 1])
      #expect(try pages(store, early, limit: limit, isOldestFirst: true) == [1, 2, 3])
      let list = try store.page(with: early, limit: 9).reports
      #expect(list.map(\.isPreliminary) == [true, true, nil, nil, nil])
      #expect(try store.page(with: early, limit: 1).reports.map(\.pid) == [5])
    }
  }

  @Test("first crash: a paged list shows reports stored meanwhile, and shows no removed report again")
  func changes() throws {
    try withStore { store throws in
      let early = [Self.preliminary(5), Self.preliminary(4)]
      let first = try #require(
        try store.page(with: early, limit: 1).reports.first.flatMap { StoreCursor($0.cursor, of: store.epoch) })
      _ = try store.put(Self.report(4), raw: [])
      #expect(try store.page(with: early, before: first, limit: 9).reports.map(\.pid) == [4, 3, 2, 1])
      #expect(throws: StoreError.invalidCursor(first.description)) {
        try store.page(with: early, after: first, limit: 9)
      }
      #expect(try store.remove(idPrefix: "44ab") == "44ab")
      #expect(try store.page(with: early, limit: 9).reports.map(\.pid) == [5, 3, 2, 1])
      #expect(throws: StoreError.noSuchReport(id: "44ab")) { try store.report(with: early, idPrefix: "44ab") }
    }
  }

  @Test("first crash: the cursor of a preliminary report cannot start a subscription")
  func cursor() throws {
    try withStore { store throws in
      let listed = try #require(try store.page(with: [Self.preliminary(4)], limit: 1).reports.first)
      let first = try #require(StoreCursor(listed.cursor, of: store.epoch))
      #expect(throws: StoreError.invalidCursor(first.description)) {
        try store.events(after: first, limit: 9)
      }
      let other = StoreCursor(epoch: StoreEpoch(id: "0123456789abcdef"), sequence: first.sequence)
      #expect(throws: StoreError.invalidCursor(other.description)) { try store.page(with: [], before: other, limit: 9) }
    }
  }

  @Test("first crash: a report stored while a list is read is shown once, as stored")
  func storedMeanwhile() throws {
    try withStore { store throws in
      let early = [Self.preliminary(3)]
      let list = try store.page(with: early, limit: 9).reports
      #expect(list.map(\.pid) == [3, 2, 1] && list.allSatisfy { $0.isPreliminary == nil })
      for prefix in [nil, "33", ""] {
        #expect(try store.report(with: early, idPrefix: prefix).report.isPreliminary == nil)
      }
    }
  }

  @Test("first crash: a report is found by id prefix before it is stored, by users who may see it")
  func lookUp() throws {
    try withStore { store throws in
      let early = [Self.preliminary(4), Self.preliminary(5, uid: 1_001)]
      #expect(try store.report(with: early, idPrefix: "44").report.process.pid == 4)
      #expect(try store.report(with: early, idPrefix: nil).report.process.pid == 5)
      #expect(try store.report(with: early, idPrefix: nil, visibility: .user(1_000)).report.process.pid == 4)
      #expect(throws: StoreError.noSuchReport(id: "55")) {
        try store.report(with: early, idPrefix: "55", visibility: .user(1_000))
      }
      #expect(throws: StoreError.noSuchReport(id: "6")) { try store.report(with: early, idPrefix: "6") }
      var twin = Self.preliminary(6)
      twin.id = "33cd"
      #expect(throws: StoreError.ambiguous(id: "33", count: 2)) { try store.report(with: [twin], idPrefix: "33") }
      #expect(try store.report(with: [twin], idPrefix: "33c").report.process.pid == 6)
    }
  }

  @Test("first crash: a list shows the same fields of a report before and after it is stored")
  func summaries() throws {
    try withStore { store throws in
      let report = try CrashReport.sample(id: "9999ab")
      var before = try #require(try store.page(with: [report], limit: 1).reports.first)
      let cursor = before.cursor
      _ = try store.put(report, raw: [])
      let after = try #require(try store.list(limit: 1).first)
      #expect(before.id == report.id && cursor != after.cursor)
      before.cursor = after.cursor
      #expect(before == after)
    }
  }

  @Test("first crash: a filter matches preliminary and stored reports in the same way")
  func filters() throws {
    var restricted = Self.report(7)
    restricted.process.isRestricted = true
    var reports = [Self.report(4), Self.report(5, uid: 1_001), Self.report(6, signal: "SIGSEGV"), restricted]
    reports[0].annotations = ["region": "eu", "query": "a=b"]
    (reports[0].release, reports[0].environment, reports[0].user) = ("shop@1", "test", "17")
    (reports[1].release, reports[1].annotations) = ("shop@2", ["region": "eu"])
    let filters = [
      ReportFilter(), ReportFilter(pid: 4), ReportFilter(name: "ho"), ReportFilter(name: "Ho"), ReportFilter(name: ""),
      ReportFilter(group: "ab"), ReportFilter(group: "ab4"), ReportFilter(group: "b"),
      ReportFilter(unit: "shop.service"),
      ReportFilter(unit: "shop"), ReportFilter(signal: "SIGSEGV"), ReportFilter(executable: "/srv"),
      ReportFilter(executable: "/opt"), ReportFilter(since: "2026-11-21T08:00:05.000000Z"),
      ReportFilter(until: "2026-11-21T08:00:05.000000Z"),
      ReportFilter(tags: ["region=eu"]), ReportFilter(tags: ["region=eu", "query=a=b"]), ReportFilter(tags: []),
      ReportFilter(tags: ["user=17"]), ReportFilter(tags: ["release=shop@2", "region=eu"]),
      ReportFilter(tags: ["region=eu", "region=us"]), ReportFilter(tags: ["region"]),
      ReportFilter(release: "shop@1", tags: ["region=eu"]), ReportFilter(release: "shop@1", environment: "live"),
    ]
    // For each report, searches each field for the value that the report has. If the search of a field accepts parts of
    // a value, also searches for a part.
    let ofTexts = reports.flatMap { report in
      ReportFilter.texts.flatMap { field in
        [field.text(report), field.text(report).map { String($0.dropFirst()) }].map { wanted in
          var filter = ReportFilter()
          filter[keyPath: field.path] = wanted
          return filter
        }
      }
    }
    try withStore { store throws in
      for report in reports { _ = try store.put(report, raw: []) }
      for filter in filters + ofTexts {
        for visibility in [Visibility.all, .user(1_000), .user(1_001)] {
          let listed = Set(try store.list(filter, visibility: visibility, limit: 99).map(\.id))
          let included = Set(
            reports.filter { filter.includes($0, visibility: visibility) }.map(\.id))
          #expect(included == listed.intersection(reports.map(\.id)), "\(filter) \(visibility)")
        }
      }
    }
  }
}
