import CrashProtocol
import CrashReport
import Foundation
import GRDB
import Glibc
import Synchronization
import TestKit
import Testing

@testable import CrashStore

@Suite("A database that is removed or replaced while it is open")
struct DisplacementTests {
  private static let time = "2026-11-22T10:00:00.000000Z"

  private func report(_ number: Int) -> CrashReport {
    CrashReport(
      id: "ab\(1_000 + number)", time: "2026-11-21T08:00:00.000000Z",
      process: CrashReport.ProcessIdentity(
        pid: 7, uid: 1000, name: "shop", executable: "/srv/shop", buildID: "aa", startTime: Self.time),
      signal: CrashReport.Signal(number: 4, name: "SIGILL", code: 2, codeName: "ILL_ILLOPN"), reason: "",
      diagnosis: CrashReport.Diagnosis(cause: "c", sentence: "s", rule: "r", confidence: 1), threads: [], images: [],
      group: CrashReport.Group(key: "cafe", title: "title"))
  }

  enum Slip: CaseIterable {
    case removed
    case removedWithLog
    case logRemoved
    case replacedByText
    case replacedByBackup
    case directoryRemoved
  }

  private func make(_ slip: Slip, _ path: String) throws {
    let files = FileManager.default
    switch slip {
    case .removed: try files.removeItem(atPath: path)
    case .removedWithLog: for suffix in ["", "-wal", "-shm"] { try files.removeItem(atPath: path + suffix) }
    case .logRemoved: try files.removeItem(atPath: path + "-wal")
    case .replacedByText:
      try files.removeItem(atPath: path)
      try Data("no database".utf8).write(to: URL(fileURLWithPath: path))
    case .replacedByBackup:
      let other = try DatabaseQueue(path: path + ".backup")
      try other.write { try $0.execute(sql: "CREATE TABLE backup (number INTEGER)") }
      try other.close()
      #expect(unsafe rename(path + ".backup", path) == 0)
    case .directoryRemoved: try files.removeItem(atPath: String(path.dropLast("/r.sqlite".count)))
    }
  }

  @Test(
    "F18: a removed database is detected before the next report, and the new database has its contents",
    arguments: Slip.allCases)
  func displaced(slip: Slip) throws {
    let directory = try TestDirectory()
    try FileManager.default.createDirectory(atPath: directory.path + "/state", withIntermediateDirectories: false)
    let path = directory.path + "/state/r.sqlite"
    let store = try ReportStore(path: path)
    for number in 0..<40 { _ = try store.put(report(number), raw: [UInt8(number)]) }
    let cursor = try store.newestCursor()
    #expect(store.displacement() == nil)
    try make(slip, path)
    #expect(store.displacement()?.contains("while crashd used it") == true)
    #expect(throws: StoreError.self) { try store.put(report(40), raw: []) }

    let aside = try store.writeAnew(at: Self.time)
    let isReplaced = slip == .replacedByText || slip == .replacedByBackup
    #expect(aside == (isReplaced ? path + ".replaced-20261122T100000000000Z" : nil))
    #expect(aside.map { FileManager.default.fileExists(atPath: $0) } != false)
    #expect(store.displacement() == nil)
    #expect(try store.put(report(40), raw: []) == .inserted(StoreCursor(epoch: cursor.epoch, sequence: 41)))
    #expect(try store.events(after: StoreCursor(epoch: cursor.epoch, sequence: 0), limit: 100).count == 41)
    try store.close()

    // The next run of crashd opens this database.
    let next = try ReportStore(path: path)
    #expect(try next.count() == 41 && next.raw(id: "ab1007") == [7] && next.check() == nil)
    #expect(next.epoch == cursor.epoch)
    try next.close()
  }

  @Test("F18: a database that replaces the open database keeps its own write-ahead log")
  func replacedWithLog() throws {
    let (directory, files) = (try TestDirectory(), FileManager.default)
    let path = directory.path + "/r.sqlite"
    let store = try ReportStore(path: path)
    _ = try store.put(report(0), raw: [])
    let other = try DatabasePool(path: path + ".backup")
    try other.write { try $0.execute(sql: "CREATE TABLE backup (number INTEGER); INSERT INTO backup VALUES (7)") }
    // Copies the database `other` while it is open, with its write-ahead log: only the log has the recent rows.
    for suffix in ["", "-wal"] {
      try files.removeItem(atPath: path + suffix)
      try files.copyItem(atPath: path + ".backup" + suffix, toPath: path + suffix)
    }
    try other.close()
    let aside = try #require(try store.writeAnew(at: Self.time))
    let kept = try DatabaseQueue(path: aside)
    #expect(try kept.read { try Int.fetchOne($0, sql: "SELECT number FROM backup") } == 7)
    try kept.close()
    #expect(try store.count() == 1)
    try store.close()
  }

  @Test("F18: reports stored while the database is rewritten are in the new database")
  func writtenMeanwhile() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    let store = try ReportStore(path: path)
    _ = try store.put(report(0), raw: [])
    try FileManager.default.removeItem(atPath: path)
    let (isHeld, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let (isAnew, isWritten) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    Thread.detachNewThread {
      try? store.opened.pool.write { _ in
        isHeld.signal()
        gate.wait()
      }
    }
    isHeld.wait()
    Thread.detachNewThread {
      _ = try? store.writeAnew(at: Self.time)
      isAnew.signal()
    }
    // The loop ends when the thread that rewrites the database holds the lock, and waits for the writer.
    while store.writing.withLockIfAvailable({ _ in true }) != nil { sched_yield() }
    Thread.detachNewThread {
      _ = try? store.enter(subscriber: "mail", uid: 1_000, at: Self.time)
      isWritten.signal()
    }
    gate.signal()
    isAnew.wait()
    isWritten.wait()
    #expect(try store.subscribers().map(\.name) == ["mail"])
    try store.close()
  }

  @Test("F16: a store whose directory is unusable at first opens as soon as the directory is usable")
  func closedAtFirst() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/state/r.sqlite"
    let (store, aside) = try ReportStore.open(path: path, at: Self.time)
    #expect(!store.isOpen && aside == nil && store.whyClosed != nil && store.epoch == .none)
    #expect(throws: StoreError.self) { try store.put(report(1), raw: []) }
    #expect(throws: StoreError.self) { try store.count() }
    #expect(throws: StoreError.self) { try store.openAgain(at: Self.time) }
    try FileManager.default.createDirectory(atPath: directory.path + "/state", withIntermediateDirectories: false)
    #expect(try store.openAgain(at: Self.time) == nil)
    #expect(store.isOpen && store.whyClosed == nil)
    _ = try store.put(report(1), raw: [])
    #expect(try store.count() == 1)
    try store.close()
  }
}
