import CrashReport
import GRDB
import TestKit
import Testing

@testable import CrashStore

@Suite("Counts of events")
struct EventCountTests {
  private let time = "2026-11-21T08:00:00.000000Z"

  private func crash(
    _ id: String, program: String = "shop", unit: String? = nil, uid: Int = 1000, signal: String = "SIGILL",
    cause: CrashReport.Cause = .init("trap"), time: String? = nil
  ) -> CrashReport {
    CrashReport(
      id: id, time: time ?? self.time,
      process: CrashReport.ProcessIdentity(
        pid: 7, uid: uid, name: program, executable: "/srv/shop", buildID: "aa", startTime: self.time, unit: unit),
      signal: CrashReport.Signal(number: 4, name: signal, code: 2, codeName: "ILL_ILLOPN"), reason: "",
      diagnosis: CrashReport.Diagnosis(cause: cause, sentence: "s", rule: "r", confidence: 1), threads: [], images: [],
      group: CrashReport.Group(key: "cafe", title: "t"))
  }

  private func incident(_ id: String, count: Int) -> IncidentReport {
    IncidentReport(
      id: id, first: time, last: time, count: count,
      process: .init(pid: 1, uid: 1000, name: "shop", executable: "/srv/shop", buildID: "ab"), source: .quarantine,
      kind: .call, mode: .absorb, subject: "App.Session", sentence: "s", confidence: .certain)
  }

  private func withStore(_ body: (ReportStore) throws -> Void) throws {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    try body(store)
    try store.close()
  }

  @Test("a crash is counted once, even if its report is replaced or removed, and across a restart")
  func once() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    var store = try ReportStore(path: path)
    _ = try store.put(crash("a1"), raw: [])
    _ = try store.put(crash("a1", cause: .dangling), raw: [1])
    _ = try store.put(crash("a2", unit: "shop.service", time: "2026-11-21T09:00:00.000000Z"), raw: [])
    _ = try store.put(crash("a3", unit: "shop.service"), raw: [])
    _ = try store.remove(idPrefix: "a1")
    try store.close()
    store = try ReportStore(path: path)
    let counts = try store.counts(of: .crash)
    #expect(counts.map(\.count) == [2, 1] && counts.map(\.unit) == ["shop.service", ""])
    #expect(counts.map(\.detail) == ["trap", "trap"] && counts.map(\.kind) == ["SIGILL", "SIGILL"])
    #expect(counts.first?.last == "2026-11-21T09:00:00.000000Z")
    try store.close()
  }

  @Test("counts of a recovered store are added to the counts that the new store already has")
  func rescued() throws {
    let directory = try TestDirectory()
    let old = try ReportStore(path: directory.path + "/old.sqlite")
    for id in ["a1", "a2"] { _ = try old.put(crash(id), raw: []) }
    try old.close()
    try withStore { store in
      _ = try store.put(crash("b1", time: "2026-11-21T09:00:00.000000Z"), raw: [])
      try store.takeOverTables(from: DatabaseQueue(path: directory.path + "/old.sqlite"), keepsNumbers: true)
      let counts = try store.counts(of: .crash)
      #expect(counts.map(\.count) == [3] && counts.first?.last == "2026-11-21T09:00:00.000000Z")
    }
  }

  @Test("a user sees only the counts of its own processes")
  func visibility() throws {
    try withStore { store in
      _ = try store.put(crash("a1"), raw: [])
      _ = try store.put(crash("b1", uid: 0), raw: [])
      _ = try store.put(crash("b2", program: "till", uid: 0), raw: [])
      #expect(try store.counts(of: .crash, visibility: .user(1000)).map(\.count) == [1])
      _ = try store.put(crash("a2"), raw: [])
      // Even for root, the counts are separate for each user: a sum would decrease when a user's row is removed.
      let counts = try store.counts(of: .crash)
      #expect(counts.map(\.count) == [2, 1, 1] && counts.map(\.uid) == [1000, 0, 0])
      let incidents = try store.counts(of: .incident)
      #expect(incidents.isEmpty)
    }
  }

  @Test("programs beyond a user's share of rows are counted as 'other', and use up no row of another user")
  func hostile() throws {
    try withStore { store in
      let many = EventCount.programLimit + 50
      for number in 0..<many {
        _ = try store.put(crash("a\(number)", program: "x\(number)", time: ReportStore.now), raw: [])
      }
      _ = try store.put(crash("b1", program: "new", uid: 0), raw: [])
      let counts = try store.counts(of: .crash)
      #expect(counts.first { $0.program == "other" }?.count == 50)
      #expect(Set(counts.map(\.program)).count == EventCount.programLimit + 2)
      #expect(counts.reduce(0) { $0 + $1.count } == many + 1)
      #expect(counts.contains { $0.program == "new" && $0.count == 1 })
      // A program that already has a row still counts in this row.
      _ = try store.put(crash("c1", program: "x0"), raw: [])
      let again = try store.counts(of: .crash)
      #expect(again.contains { $0.program == "x0" && $0.count == 2 })
    }
  }

  @Test("when a user's share is full, further programs are counted as other, and known programs still get rows")
  func full() throws {
    try withStore { store in
      for number in 0...EventCount.programLimit {
        _ = try store.put(crash("a\(number)", program: "x\(number)", time: ReportStore.now), raw: [])
      }
      try store.write { try $0.execute(sql: "DELETE FROM event_counts WHERE program IN ('x5', 'x6')") }
      _ = try store.put(crash("b1", program: "late", time: ReportStore.now), raw: [])
      _ = try store.put(crash("b2", program: "x0", signal: "SIGSEGV", time: ReportStore.now), raw: [])
      let counts = try store.counts(of: .crash)
      #expect(counts.first { $0.program == "other" }?.count == 2 && !counts.contains { $0.program == "late" })
      #expect(counts.contains { $0.program == "x0" && $0.kind == "SIGSEGV" })
    }
  }

  @Test("units and causes beyond a user's share of rows are also counted as 'other'")
  func rows() throws {
    try withStore { store in
      for number in 0..<EventCount.rowLimit + 3 {
        _ = try store.put(crash("a\(number)", unit: "u\(number).service", time: ReportStore.now), raw: [])
      }
      let counts = try store.counts(of: .crash)
      #expect(counts.count == EventCount.rowLimit + 1)
      #expect(counts.first.map { [$0.program, $0.unit, $0.kind, $0.detail] } == ["other", "", "other", "other"])
      #expect(counts.first?.count == 3)
    }
  }

  @Test("the rows of programs that have not crashed for a week are reused for a new program")
  func rest() throws {
    try withStore { store in
      for number in 0..<EventCount.programLimit {
        _ = try store.put(crash("a\(number)", program: "x\(number)", time: "2020-01-01T08:00:00.000000Z"), raw: [])
      }
      _ = try store.put(crash("b", program: "new", time: ReportStore.now), raw: [])
      #expect(try store.counts(of: .crash).map(\.program) == ["new"])
    }
  }

  @Test("a name is cut to one line of at most 64 bytes, between characters")
  func labels() throws {
    try withStore { store in
      _ = try store.put(crash("a1", program: "a\n" + String(repeating: "é", count: 100)), raw: [])
      #expect(try store.counts(of: .crash).map(\.program) == ["a␊" + String(repeating: "é", count: 30)])
    }
  }

  @Test("the count of incidents grows by each increase, even if a process writes an impossible number")
  func incidents() throws {
    try withStore { store in
      try store.put(incidents: [incident("a", count: 3)])
      try store.put(incidents: [incident("a", count: 5), incident("b", count: 2)])
      try store.put(incidents: [incident("a", count: 1), incident("c", count: -4)])
      let counts = try store.counts(of: .incident)
      #expect(counts.map(\.count) == [7])
      #expect(counts.map { [$0.program, $0.kind, $0.detail] } == [["shop", "quarantine", "call"]])
      for number in 0..<3 { try store.put(incidents: [incident("m\(number)", count: .max)]) }
      #expect(try store.counts(of: .incident).map(\.count) == [EventCount.mostEvents])
    }
  }
}
