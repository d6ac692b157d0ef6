import CrashProtocol
import CrashReport
import FoundationEssentials
import GRDB
import TestKit
import Testing

@testable import CrashStore

@Suite("A corrupt database")
struct RescueTests {
  private func report(_ number: Int) -> CrashReport {
    let time = "2026-11-21T08:00:00.000000Z"
    var report = CrashReport(
      id: "ab\(1_000 + number)", time: time,
      process: CrashReport.ProcessIdentity(
        pid: 7, uid: 1000, name: "shop", executable: "/srv/shop", buildID: "aa", startTime: time),
      signal: CrashReport.Signal(number: 4, name: "SIGILL", code: 2, codeName: "ILL_ILLOPN"), reason: "",
      diagnosis: CrashReport.Diagnosis(cause: "c", sentence: "s", rule: "r", confidence: 1), threads: [], images: [],
      group: CrashReport.Group(key: "cafe", title: "title"))
    report.breadcrumbs = [.init(time: "", text: String(repeating: "x", count: 3_000))]
    return report
  }

  /// Creates a database with 200 reports, and with a subscriber that has received 50 of them.
  private func fill(_ path: String) throws {
    let store = try ReportStore(path: path)
    _ = try store.enter(subscriber: "mail", uid: 1000, at: "2026-11-21T08:00:00.000000Z")
    for number in 0..<200 { _ = try store.put(report(number), raw: [UInt8(number)]) }
    _ = try store.acknowledge(
      StoreCursor(epoch: store.epoch, sequence: 50), subscriber: "mail", uid: 1000, at: "2026-11-21T08:00:00.000000Z")
    try store.close()
  }

  /// Overwrites a part of a database file.
  ///
  /// Also removes the write-ahead log, with which SQLite would repair the file.
  private func garble(_ path: String, from start: Int, count: Int) throws {
    for suffix in ["-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
      try FileManager.default.removeItem(atPath: path + suffix)
    }
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    bytes.replaceSubrange(start..<start + count, with: Data(repeating: 0xa5, count: count))
    try bytes.write(to: URL(fileURLWithPath: path))
  }

  @Test("readable reports of a corrupt database are recovered, and cursors stay valid")
  func garbled() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    try fill(path)
    // The overwritten pages contain the JSON of reports.
    try garble(path, from: 140 * 4_096, count: 3 * 4_096)
    let store = try ReportStore(path: path)
    let problem = try #require(try store.check())
    let epoch = store.epoch
    let aside = try store.startAnew(because: problem, at: "2026-11-22T10:00:00.000000Z")
    #expect(aside.path == path + ".corrupt-20261122T100000000000Z" && aside.keepsCursors)
    // The new database can store crashes before crashd has recovered the old reports. Their numbers continue the old
    // numbers.
    #expect(try store.put(report(500), raw: []) == .inserted(StoreCursor(epoch: epoch, sequence: 201)))
    let rescued = try store.rescue(aside)
    #expect(rescued.isReadable && rescued.unreadable > 0)
    #expect(rescued.reports > 150 && rescued.reports < 200)
    #expect(rescued.reports + rescued.unreadable >= 199)
    #expect(try store.count() == rescued.reports + 1)
    #expect(try store.check() == nil)
    let mail = try store.cursor(ofSubscriber: "mail", uid: 1000)
    #expect(mail == StoreCursor(epoch: epoch, sequence: 50))
    let next = try #require(try store.events(after: mail, limit: 1).first)
    #expect(next.cursor.sequence >= 51 && next.id == "ab\(1_000 + Int(next.cursor.sequence) - 1)")
    #expect(try store.raw(id: next.id) == [UInt8(next.cursor.sequence - 1)])
    try store.close()
  }

  private func incident(_ id: String) -> IncidentReport {
    let time = "2026-11-21T08:00:00.000000Z"
    return IncidentReport(
      id: id, first: time, last: time, count: 1,
      process: .init(pid: 1, uid: 1000, name: "shop", executable: "/srv/shop", buildID: "ab"), source: "guard",
      kind: "index", mode: "absorb", subject: "7 is outside", sentence: "s", confidence: "certain")
  }

  @Test(
    "recovered incidents keep their cursors if the reports keep theirs; otherwise incidents get new numbers",
    arguments: [true, false])
  func incidents(keepsCursors: Bool) throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    let store = try ReportStore(path: path)
    if keepsCursors { _ = try store.put(report(1), raw: []) }
    try store.put(incidents: ["a", "b", "c", "d"].map { incident($0) })
    let read = try store.incidentPage(after: store.incidentCursor(isNewest: false), limit: 1).end
    try store.write { try $0.execute(sql: "DELETE FROM incidents WHERE id IN ('b', 'd')") }
    let aside = try store.startAnew(because: "a test", at: "2026-11-22T10:00:00.000000Z")
    #expect(aside.keepsCursors == keepsCursors)
    // This incident is stored in the new database before the old incidents are recovered.
    try store.put(incidents: [incident("e")])
    _ = try store.rescue(aside)
    #expect(Set(try store.incidents(limit: 9).map(\.id)) == ["a", "c", "e"])
    if keepsCursors {
      let page = try store.incidentPage(after: read, limit: 9)
      #expect(page.incidents.map(\.id) == ["c", "e"] && page.lost == 2)
    } else {
      #expect(throws: StoreError.invalidCursor(read.description)) { try store.incidentPage(after: read, limit: 9) }
      let page = try store.incidentPage(after: store.incidentCursor(isNewest: false), limit: 9)
      #expect(page.incidents.map(\.id) == ["e", "a", "c"] && page.lost == 0)
    }
    try store.close()
  }

  @Test("a database without its header is set aside, and a new database is created")
  func noHeader() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    try fill(path)
    try garble(path, from: 0, count: 4_096)
    let (store, found) = try ReportStore.open(path: path, at: "2026-11-22T10:00:00.000000Z")
    let aside = try #require(found)
    #expect(!aside.keepsCursors && FileManager.default.fileExists(atPath: aside.path))
    #expect(try !store.rescue(aside).isReadable || store.count() == 0)
    _ = try store.put(report(1), raw: [])
    #expect(try store.count() == 1)
    try store.close()
    // A second database that is set aside at the same time gets another name.
    try garble(path, from: 0, count: 4_096)
    let (again, other) = try ReportStore.open(path: path, at: "2026-11-22T10:00:00.000000Z")
    #expect(other?.path == aside.path + "-2")
    try again.close()
  }

  @Test("crashd does not change another program's database at its path")
  func foreign() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    try fill(path)
    // The bytes 68 to 71 of an SQLite file are the application id.
    try garble(path, from: 68, count: 4)
    #expect(throws: StoreError.notADatabase(path: path)) { try ReportStore.open(path: path, at: "x") }
  }
}
