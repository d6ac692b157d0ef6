import CrashProtocol
import CrashReport
import GRDB
import TestKit
import Testing

@testable import CrashStore

@Suite("Queries of tags")
struct TagQueryTests {
  private func withStore(_ body: (ReportStore) throws -> Void) throws {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    try body(store)
    try store.close()
  }

  private func sample(_ number: Int, _ tags: [String: String]) throws -> CrashReport {
    var report = try CrashReport.sample(id: "abcd\(100 + number)")
    (report.process.uid, report.annotations) = (1_000 + number % 2, tags)
    return report
  }

  /// Returns the steps of SQLite's query plan for a statement.
  private func plan(_ store: ReportStore, _ sql: String, _ arguments: StatementArguments) throws -> [String] {
    try store.pool.read { database in
      try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + sql, arguments: arguments).map { $0["detail"] }
    }
  }

  @Test(
    "a page of reports with a tag reads a range of the tag's index",
    arguments: [(Visibility.all, "report_tags_value (key"), (.user(1_000), "report_tags_owner (uid=? AND key")])
  func pages(visibility: Visibility, index: String) throws {
    let filter = ReportFilter(name: "shop", release: "shop@1", tags: ["region=eu", "tier=a"])
    try withStore { store in
      for isOldestFirst in [false, true] {
        var wanted = ReportConditions(filter, visibility)
        if isOldestFirst { wanted.add(after: 5) } else { wanted.add(before: 5) }
        let bound = isOldestFirst ? "seq>?" : "seq<?"
        let pages = [wanted.page(isOldestFirst: isOldestFirst)] + (isOldestFirst ? [wanted.events] : [])
        for sql in pages {
          let steps = try plan(store, sql, wanted.arguments(["limit": 16]))
          #expect(steps.first == "SEARCH report_tags USING COVERING INDEX \(index)=? AND value=? AND \(bound))")
          // The plan shows that SQLite reads the rows in the order of the index, without a sort.
          #expect(!steps.contains { $0.contains("TEMP B-TREE") || $0.contains("LIST SUBQUERY") || $0.contains("SCAN") })
          #expect(steps.count { $0 == "SEARCH report_tags USING PRIMARY KEY (seq=? AND key=?)" } == 2)
        }
      }
    }
  }

  @Test("queries of reports and groups by route or trace id use the indexes of requests")
  func requests() throws {
    try withStore { store in
      for filter in [ReportFilter(route: "GET /"), ReportFilter(tags: [], traceID: String(repeating: "a", count: 32))] {
        var wanted = ReportConditions(filter, .all)
        wanted.add(before: 5)
        let steps = try plan(store, wanted.page(isOldestFirst: false), wanted.arguments(["limit": 16]))
        let index = "report_requests_value (key=? AND value=? AND seq<?)"
        #expect(steps.first == "SEARCH report_requests USING COVERING INDEX \(index)")
        #expect(!steps.contains { $0.contains("TEMP B-TREE") || $0.contains("SCAN") })
        let group = try #require(GroupRestriction(filter, .all)).narrowed(to: "cafe", 1_000)
        let groupSteps = try plan(store, "SELECT id FROM group_reports \(group.clause)", group.arguments([:]))
        #expect(groupSteps.contains("SEARCH report_requests USING PRIMARY KEY (seq=? AND key=?)"))
      }
    }
  }

  @Test("a report is found by the request of its first crashed thread, and not by a tag with the same key")
  func route() throws {
    let trace = String(repeating: "0123456789abcdef", count: 2)
    try withStore { store in
      var report = try sample(0, ["route": "GET /tag"])
      report.threads[0].request = CrashReport.Request(
        number: 1, operation: "GET /cart", traceID: trace, startTime: report.time, age_ns: 1)
      _ = try store.put(report, raw: [])
      _ = try store.put(try sample(1, [:]), raw: [])
      #expect(try store.list(ReportFilter(route: "GET /cart"), limit: 9).map(\.id) == [report.id])
      let listed = try #require(store.list(ReportFilter(traceID: trace), limit: 9).first)
      #expect(listed.route == "GET /cart" && listed.traceID == trace)
      let both = ReportFilter(tags: ["route=GET /tag"], route: "GET /cart", traceID: trace)
      #expect(try store.list(both, visibility: .user(1_000), limit: 9).map(\.id) == [report.id])
      #expect(try store.list(both, visibility: .user(1_001), limit: 9).isEmpty)
      for wrong in [
        ReportFilter(route: "GET /tag"), ReportFilter(tags: ["route=GET /cart"]), ReportFilter(route: "GET"),
      ] {
        #expect(try store.list(wrong, limit: 9).isEmpty && !wrong.includes(report, visibility: .all))
      }
      #expect(both.includes(report, visibility: .all))
      #expect(try store.groups(both, limit: 9).map(\.count) == [1])
      #expect(try store.list(limit: 9).map(\.route) == [nil, "GET /cart"])
      _ = try store.remove(idPrefix: report.id)
      #expect(try store.pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM report_requests") } == 0)
    }
  }

  @Test("a query of groups searches a tag in each report, and builds no list of all reports with the tag")
  func groups() throws {
    try withStore { store in
      let wanted = try #require(GroupRestriction(ReportFilter(release: "shop@1"), .all)).narrowed(to: "cafe", 1_000)
      let steps = try plan(
        store, "SELECT id FROM group_reports \(wanted.clause) ORDER BY time DESC, id DESC LIMIT 1",
        wanted.arguments([:]))
      #expect(steps.contains("SEARCH report_tags USING PRIMARY KEY (seq=? AND key=?)"))
      #expect(!steps.contains { $0.contains("LIST SUBQUERY") || $0.contains("TEMP B-TREE") })
    }
  }

  @Test("pages with several tags have the reports with all of these tags, in order, for root and for each owner")
  func several() throws {
    try withStore { store in
      for number in 0..<24 {
        let report = try sample(
          number, ["region": number % 3 == 0 ? "eu" : "us", "tier": number % 4 == 0 ? "a" : "b", "all": "1"])
        _ = try store.put(report, raw: [])
      }
      let filter = ReportFilter(tags: ["all=1", "region=eu", "all=1", "tier=a"])
      let ids = ["abcd100", "abcd112"]
      #expect(try store.list(filter, limit: 9).map(\.id) == ids.reversed())
      #expect(try store.page(filter, isOldestFirst: true, limit: 1, counts: true).more == 1)
      let first = try #require(store.page(filter, isOldestFirst: true, limit: 1).reports.first)
      let cursor = try store.cursor(first.cursor)
      #expect(first.id == ids[0])
      #expect(try store.page(filter, after: cursor, limit: 9).reports.map(\.id) == [ids[1]])
      let start = StoreCursor(epoch: store.epoch, sequence: 0)
      #expect(try store.events(after: start, filter, limit: 9).map(\.id) == ids)
      #expect(try store.events(after: cursor, filter, limit: 9).map(\.id) == [ids[1]])
      #expect(try store.list(filter, visibility: .user(1_001), limit: 9).isEmpty)
      let own = try store.events(after: start, ReportFilter(tags: ["region=eu"]), visibility: .user(1_001), limit: 9)
      #expect(own.count == 4)
      #expect(try store.groups(filter, limit: 9).map(\.count) == [2])
    }
  }
}
