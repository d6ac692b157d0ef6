import CrashProtocol
import CrashReport
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

  @Test("pages of incidents continue, and an incident that counted further is listed again once")
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

  @Test("a page of incidents has a size limit, but at least one incident, and filtered ones are skipped")
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

  @Test("a cursor of another store, or behind the newest incident, is refused")
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
