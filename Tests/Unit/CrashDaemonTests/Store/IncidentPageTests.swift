import CrashProtocol
import CrashReport
import GRDB
@testable import CrashStore
import TestKit
import Testing

@Suite("Pages of incidents in storage order")
struct IncidentPageTests {
  private static func incident(_ id: String, uid: Int = 0, count: Int = 1, name: String = "shop") -> IncidentReport {
    let time = "2026-01-01T00:00:00.000000Z"
    return IncidentReport(
      id: id, first: time, last: time, count: count,
      process: .init(pid: 1, uid: uid, name: name, executable: "/srv/shop", buildID: "ab"), source: "guard",
      kind: "index", mode: "absorb", subject: "7 is outside", sentence: "7 is outside.", confidence: "certain")
  }

  private func withStore(_ body: (ReportStore) throws -> Void) throws {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    try body(store)
    try store.close()
  }

  @Test("pages of incidents continue at a cursor, and an incident whose count has increased is listed again")
  func order() throws {
    try withStore { store in
      let start = try store.incidentCursor(isNewest: true)
      #expect(try store.incidentPage(after: start, limit: 9).incidents.isEmpty)
      try store.put(incidents: ["a", "b", "c"].map { Self.incident($0) })
      let first = try store.incidentPage(after: start, limit: 2)
      #expect(first.incidents.map(\.id) == ["a", "b"] && !first.isLast)
      for count in 2...4 { try store.put(incidents: [Self.incident("a", count: count)]) }
      let second = try store.incidentPage(after: first.end, limit: 9)
      #expect(second.incidents.map(\.id) == ["c", "a"] && second.incidents.map(\.count) == [1, 4] && second.isLast)
      #expect(try store.incidentPage(after: second.end, limit: 9).incidents.isEmpty)
      #expect(try store.incidentPage(after: store.incidentCursor(isNewest: false), limit: 9).incidents.count == 3)
    }
  }

  @Test("a page of incidents has a size limit but at least one incident, and skips filtered incidents")
  func bounds() throws {
    try withStore { store in
      let start = try store.incidentCursor(isNewest: true)
      try store.put(incidents: ["a", "b"].map { Self.incident($0) } + [Self.incident("c", uid: 7, name: "till")])
      let small = try store.incidentPage(after: start, limit: 9, limitBytes: 1)
      #expect(small.incidents.map(\.id) == ["a"] && !small.isLast)
      let till = try store.incidentPage(after: start, IncidentFilter(name: "till"), limit: 9)
      #expect(till.incidents.map(\.id) == ["c"] && till.isLast)
      let none = try store.incidentPage(after: start, visibility: .user(8), limit: 9)
      #expect(none.incidents.isEmpty && none.isLast && none.end == till.end)
      #expect(try store.incidentPage(after: start, visibility: .user(7), limit: 9).incidents.map(\.id) == ["c"])
    }
  }

  @Test("after the newest or all incidents are evicted, a cursor neither skips nor repeats incidents")
  func monotonic() throws {
    try withStore { store in
      try store.put(incidents: ["a", "b"].map { Self.incident($0) })
      let first = try store.incidentCursor(isNewest: true)
      for (evicted, next) in [("id = 'b'", "c"), ("1", "d")] {
        try store.write { try $0.execute(sql: "DELETE FROM incidents WHERE \(evicted)") }
        let cursor = try store.incidentCursor(isNewest: true)
        #expect(try store.incidentPage(after: cursor, limit: 9).incidents.isEmpty)
        try store.put(incidents: [Self.incident(next)])
        #expect(try store.incidentPage(after: cursor, limit: 9).incidents.map(\.id) == [next])
      }
      let page = try store.incidentPage(after: first, limit: 9)
      #expect(page.incidents.map(\.id) == ["d"] && page.lost == 1)
    }
  }

  @Test("incidents that are evicted before a reader reads them are counted as lost for each reader that may see them")
  func lost() throws {
    try withStore { store in
      let start = try store.incidentCursor(isNewest: true)
      try store.put(incidents: ["a", "b", "c"].map { Self.incident($0) } + [Self.incident("d", uid: 7)])
      let first = try store.incidentPage(after: start, limit: 1)
      #expect(first.incidents.map(\.id) == ["a"] && first.lost == 0)
      try store.write { try $0.execute(sql: "DELETE FROM incidents WHERE id IN ('a', 'b', 'd')") }
      // The first page contained incident a, so its removal is not a loss.
      let second = try store.incidentPage(after: first.end, limit: 9)
      #expect(second.incidents.map(\.id) == ["c"] && second.lost == 2)
      #expect(try store.incidentPage(after: second.end, limit: 9).lost == 0)
      #expect(try store.incidentPage(after: start, visibility: .user(7), limit: 9).lost == 1)
      #expect(try store.incidentPage(after: start, visibility: .user(8), limit: 9).lost == 0)
      #expect(try store.incidentPage(after: start, IncidentFilter(name: "till"), limit: 9).lost == 3)
      #expect(try store.evictedIncidents(visibility: .user(0)) == 2)
      // If an evicted incident occurs again, a reader gets it again.
      try store.put(incidents: [Self.incident("b", count: 2)])
      let third = try store.incidentPage(after: first.end, limit: 9)
      #expect(third.incidents.map(\.id) == ["c", "b"] && third.lost == 1)
      // An incident that cannot be decoded is lost, too.
      try store.write { try $0.execute(sql: "UPDATE incidents SET json = x'7b' WHERE id = 'c'") }
      let fourth = try store.incidentPage(after: first.end, limit: 9)
      #expect(fourth.incidents.map(\.id) == ["b"] && fourth.lost == 2)
    }
  }

  @Test("with more incidents than the store keeps, a slow reader gets the rest and the number of lost ones")
  func full() throws {
    try withStore { store in
      let start = try store.incidentCursor(isNewest: true)
      let count = ReportStore.incidentLimit + 300
      for first in stride(from: 0, to: count, by: 1_030) {
        try store.put(incidents: (first..<min(count, first + 1_030)).map { Self.incident("i\($0)") })
      }
      // When the count of an incident increases, the incident gets a new number in the store. The gap at its old number
      // is not a loss.
      try store.put(incidents: [Self.incident("i\(count - 1)", count: 2)])
      var (cursor, found, lost) = (start, 0, 0)
      while true {
        let page = try store.incidentPage(after: cursor, limit: 1_000)
        (cursor, found, lost) = (page.end, found + page.incidents.count, lost + page.lost)
        if page.isLast { break }
      }
      #expect(found == ReportStore.incidentLimit && lost == 300)
      #expect(try store.incidentPage(after: cursor, limit: 9).lost == 0)
    }
  }

  @Test("evicted incidents beyond a limit are not counted as lost")
  func bounded() throws {
    try withStore { store in
      let start = try store.incidentCursor(isNewest: true)
      try store.put(incidents: [Self.incident("a")])
      try store.write {
        try $0.execute(
          sql: """
            WITH RECURSIVE n(n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM n LIMIT \(ReportStore.evictedIncidentLimit + 9))
            INSERT INTO evicted_incidents (uid, seq, id) SELECT 0, n, 'e' || n FROM n
            """)
        try $0.execute(sql: "UPDATE sqlite_sequence SET seq = 1000000 WHERE name = 'incidents'")
      }
      try store.put(incidents: [Self.incident("b")])
      #expect(try store.incidentPage(after: start, limit: 9).lost == ReportStore.evictedIncidentLimit)
    }
  }

  @Test("a cursor of another store, or beyond the newest incident, is refused")
  func cursors() throws {
    try withStore { store in
      let start = try store.incidentCursor(isNewest: true)
      let later = StoreCursor(epoch: start.epoch, sequence: start.sequence + 1, kind: .incident)
      let foreign = StoreCursor(epoch: StoreEpoch(id: "0123456789abcdef"), sequence: 0, kind: .incident)
      for cursor in [foreign, later, StoreCursor(epoch: start.epoch, sequence: 0)] {
        #expect(throws: StoreError.invalidCursor(cursor.description)) {
          _ = try store.incidentPage(after: cursor, limit: 9)
        }
      }
    }
  }
}
