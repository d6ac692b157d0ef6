import CrashProtocol
import CrashReport
import FoundationEssentials
import GRDB
import TestKit
import Testing

@testable import CrashStore

@Suite("A store of the previous version")
struct MigrationTests {
  private func report(_ id: String, group: String, minute: Int, uid: Int = 1000, build: String = "aa") -> CrashReport {
    let time = "2026-11-21T08:0\(minute):00.000000Z"
    return CrashReport(
      id: id, time: time,
      process: CrashReport.ProcessIdentity(
        pid: 7, uid: uid, name: "shop", executable: "/srv/shop", buildID: build, startTime: time),
      signal: CrashReport.Signal(number: 4, name: "SIGILL", code: 2, codeName: "ILL_ILLOPN"), reason: "",
      diagnosis: CrashReport.Diagnosis(cause: "c", sentence: "s", rule: "r", confidence: 1), threads: [], images: [],
      group: CrashReport.Group(key: group, title: "title of \(id)"))
  }

  /// Creates a database with schema version 8, as the last crashd with this schema left it.
  private func makeOld(_ path: String, _ reports: [CrashReport]) throws {
    let old = try DatabasePool(path: path)
    try StoreSchema.migrator.migrate(old, upTo: "v8")
    try old.write { database in
      try database.execute(sql: "PRAGMA application_id = \(StoreSchema.applicationID)")
      for report in reports {
        try database.execute(
          sql: """
            INSERT INTO reports (id, time, pid, uid, name, executable, signal, reason, sentence, function, group_key,
              group_title, json) VALUES (?, ?, 7, ?, 'shop', '/srv/shop', 'SIGILL', '', 's', '', ?, ?, ?)
            """,
          arguments: [
            report.id, report.time, report.process.uid, report.group.key, report.group.title,
            try JSONEncoder().encode(report),
          ])
        try database.execute(
          sql: """
            INSERT INTO group_reports (group_key, uid, time, id, build, name, executable, title)
            VALUES (?, ?, ?, ?, ?, 'shop', '/srv/shop', ?)
            """,
          arguments: [
            report.group.key, report.process.uid, report.time, report.id, report.process.buildID, report.group.title,
          ])
        try database.execute(sql: "INSERT INTO raw_records (id, bytes) VALUES (?, x'010203')", arguments: [report.id])
      }
      try database.execute(
        sql: """
          INSERT INTO group_past (group_key, uid, hour, build, name, executable, title, count, first, last)
          VALUES ('cafe', 1000, '2026-11-20T08', 'zz', 'till', '/srv/shop', 't', 5, '2026-11-20T08:00:00.000000Z',
            '2026-11-20T08:30:00.000000Z')
          """)
    }
    try old.close()
  }

  @Test("a store of the previous version opens, with groups, sizes and counts computed from its rows")
  func opens() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    let reports = [
      report("a1", group: "cafe", minute: 1), report("a2", group: "cafe", minute: 2, build: "bb"),
      report("b1", group: "beef", minute: 3, uid: 0),
    ]
    try makeOld(path, reports)
    let store = try ReportStore(path: path)
    let groups = try store.groups(limit: 9)
    #expect(groups.map(\.key) == ["beef", "cafe"] && groups.map(\.count) == [1, 7])
    #expect(groups.map(\.builds) == [1, 3] && groups.last?.names == ["shop", "till"])
    let bytes = try JSONEncoder().encode(reports[2]).count + 3
    let shares = try store.pool.read {
      try Row.fetchAll($0, sql: "SELECT bytes, reports FROM user_shares ORDER BY uid")
    }
    #expect(shares.map { $0["reports"] as Int } == [1, 2] && shares.first?["bytes"] == bytes)
    #expect(try store.report(idPrefix: "a1").report == reports[0])
    try expectTrueSums(store)
    try store.close()
  }

  @Test("a store without tags can be opened; old reports are not found by tags, new and replaced reports are")
  func tags() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    var old = report("a1", group: "cafe", minute: 1)
    old.annotations = ["release": "shop@1", "region": "eu"]
    try makeOld(path, [old])
    let store = try ReportStore(path: path)
    #expect(try store.list(limit: 9).map(\.release) == [nil])
    #expect(try store.list(ReportFilter(tags: ["region=eu"]), limit: 9).isEmpty)
    #expect(try store.groups(limit: 9).map(\.firstRelease) == [nil])
    // The migrated row has no release, although the JSON of the old report has one.
    #expect(try store.report(idPrefix: "a1").report[.release] == "shop@1")
    var new = report("a2", group: "cafe", minute: 2)
    (new.release, new.annotations) = ("shop@2", ["region": "eu"])
    _ = try store.put(new, raw: [])
    #expect(try store.list(ReportFilter(tags: ["region=eu"]), limit: 9).map(\.id) == ["a2"])
    old.reason = "analyzed again"
    _ = try store.put(old, raw: [])
    #expect(try store.list(ReportFilter(release: "shop@1"), limit: 9).map(\.id) == ["a1"])
    let count = { try store.pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM report_tags") } }
    #expect(try count() == 4)
    _ = try store.remove(idPrefix: "a1")
    #expect(try count() == 2)
    try store.close()
  }

  private func incident(_ id: String, uid: Int = 1000, count: Int = 1) -> IncidentReport {
    let time = "2026-11-21T08:00:00.000000Z"
    return IncidentReport(
      id: id, first: time, last: time, count: count,
      process: .init(pid: 1, uid: uid, name: "shop", executable: "/srv/shop", buildID: "ab"), source: "quarantine",
      kind: "call", mode: "absorb", subject: "App.Session", sentence: "s", confidence: "certain")
  }

  @Test("incidents of an old store keep their order, groups and cursors, and their numbers are not reused")
  func incidents() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    let old = try DatabasePool(path: path)
    try StoreSchema.migrator.migrate(old, upTo: "v12")
    let stored = [incident("b"), incident("a", uid: 7), incident("c", count: 3)]
    try old.write { database in
      try database.execute(sql: "PRAGMA application_id = \(StoreSchema.applicationID)")
      // The numbers of the reports have gaps, as they have after evictions.
      for (number, incident) in zip([3, 5, 9], stored) {
        try database.execute(
          sql: """
            INSERT INTO incidents (rowid, id, uid, name, subject, source, last, json) VALUES (?, ?, ?, 'shop', ?, ?, ?, ?)
            """,
          arguments: [
            number, incident.id, incident.process.uid, incident.subject, incident.source.rawValue, incident.last,
            try JSONEncoder().encode(incident),
          ])
        try UseAfterFree(incident)?.insert(database)
      }
    }
    try old.close()
    for _ in 0..<2 {
      let store = try ReportStore(path: path)
      #expect(try store.incidents(limit: 9) == stored.reversed())
      #expect(try store.incidents(visibility: .user(7), limit: 9) == [stored[1]])
      #expect(try store.danglingGroups(visibility: .user(1000), limit: 9).map(\.count) == [4])
      let cursor = StoreCursor(epoch: store.epoch, sequence: 5, kind: .incident)
      let page = try store.incidentPage(after: cursor, limit: 9)
      #expect(page.incidents == [stored[2]] && page.lost == 0 && page.end.sequence == 9)
      #expect(try store.check() == nil)
      try store.close()
    }
    let store = try ReportStore(path: path)
    try store.write { try $0.execute(sql: "DELETE FROM incidents") }
    #expect(try store.danglingGroups(limit: 9).isEmpty)
    try store.put(incidents: [incident("d")])
    #expect(try store.incidentCursor(isNewest: true).sequence == 10)
    try store.close()
  }

  @Test("the stored sums of groups equal the sums of the rows after reports are stored, replaced, removed or pruned")
  func sums() throws {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    var generator = SystemRandomNumberGenerator()
    var ids: [String] = []
    for round in 0..<300 {
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<6:
        ids.append("a\(100_000 + round)")
        var new = report(
          ids[ids.count - 1], group: ["cafe", "beef", "f00d"].randomElement(using: &generator) ?? "cafe",
          minute: Int.random(in: 0..<10, using: &generator), uid: Int.random(in: 0..<2, using: &generator),
          build: ["aa", "bb"].randomElement(using: &generator) ?? "aa")
        if round % 3 == 0 { new.otherGroups = [CrashReport.Group(key: "dead", title: "other")] }
        if round % 2 == 0 { new.annotations = ["round": "\(round)", "region": "eu"] }
        _ = try store.put(new, raw: [UInt8](repeating: 1, count: round))
      case 6:
        guard let id = ids.randomElement(using: &generator), var old = try? store.report(idPrefix: id).report else {
          continue
        }
        old.reason += "x"
        old.group.key = "f00d"
        _ = try store.put(old, raw: [])
      case 7:
        guard let id = ids.randomElement(using: &generator) else { continue }
        _ = try? store.remove(idPrefix: id)
      case 8:
        _ = try store.remove(before: "2026-11-21T08:0\(Int.random(in: 0..<4, using: &generator)):00.000000Z")
      default:
        try store.pool.write { try $0.execute(sql: "DELETE FROM group_past WHERE count < 2") }
      }
    }
    try expectTrueSums(store)
    // A list without a filter uses sums that are stored. The test compares it with a list with a time filter, for which
    // the store computes the sums from the rows.
    let bounded = try store.groups(ReportFilter(until: "2030-01-01T00:00:00.000000Z"), limit: 99)
    #expect(try store.groups(limit: 99) == bounded)
    #expect(try store.groups(ReportFilter(since: "2020-01-01T00:00:00.000000Z"), limit: 99) == bounded)
    try store.close()
  }

  private func expectTrueSums(_ store: ReportStore) throws {
    let rows = """
      SELECT group_key, uid, build, name, 1 AS count, time AS last FROM group_reports
      UNION ALL SELECT group_key, uid, build, name, count, last FROM group_past
      """
    for (sums, truth) in [
      (
        "SELECT group_key, uid, count, last FROM group_totals ORDER BY 1, 2",
        "SELECT group_key, uid, sum(count) AS count, max(last) AS last FROM (\(rows)) GROUP BY 1, 2 ORDER BY 1, 2"
      ),
      (
        "SELECT group_key, uid, build, name, count FROM group_parts ORDER BY 1, 2, 3, 4",
        """
        SELECT group_key, uid, build, name, sum(count) AS count FROM (\(rows)) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
        """
      ),
      (
        "SELECT uid, bytes, reports FROM user_shares ORDER BY uid",
        """
        SELECT uid, sum(length(json) + ifnull((SELECT length(bytes) FROM raw_records WHERE raw_records.id = reports.id), 0)
          + ifnull((SELECT 3 * sum(length(key) + length(value)) FROM report_tags WHERE report_tags.seq = reports.seq), 0)
          + ifnull((SELECT 3 * sum(length(key) + length(value)) FROM report_requests WHERE report_requests.seq = reports.seq), 0))
          AS bytes, count(*) AS reports FROM reports GROUP BY uid ORDER BY uid
        """
      ),
    ] {
      let (left, right) = try store.pool.read { (try Row.fetchAll($0, sql: sums), try Row.fetchAll($0, sql: truth)) }
      #expect(left == right)
    }
  }
}
