import CrashProtocol
import CrashReport
import GRDB
import TestKit
import Testing

@testable import CrashStore

@Suite("Cursors of a store")
struct StoreCursorTests {
  private static func report(_ id: String, uid: Int = 1000) -> CrashReport {
    let time = "2026-11-21T08:00:00.000000Z"
    return CrashReport(
      id: id, time: time,
      process: CrashReport.ProcessIdentity(
        pid: 7, uid: uid, name: "shop", executable: "/srv/shop", buildID: "aa", startTime: time),
      signal: CrashReport.Signal(number: 4, name: "SIGILL", code: 2, codeName: "ILL_ILLOPN"), reason: "",
      diagnosis: CrashReport.Diagnosis(cause: "c", sentence: "s", rule: "r", confidence: 1), threads: [], images: [],
      group: CrashReport.Group(key: "k", title: "t"))
  }

  @Test(
    "a cursor is parsed from its string, and malformed strings are refused",
    arguments: ["", "x", "0123456789abcdef", "0123456789abcdef--1", "short-1"])
  func text(bad: String) throws {
    let epoch = StoreEpoch(id: "0123456789abcdef", key: [1, 2, 3, 4])
    for sequence in [0, 1, 42, 1 << 62, .max] as [Int64] {
      let cursor = StoreCursor(epoch: epoch, sequence: sequence)
      #expect(StoreCursor(cursor.description, of: epoch) == cursor)
      let incident = StoreCursor(epoch: epoch, sequence: sequence, kind: .incident)
      #expect(StoreCursor(incident.description, of: epoch, kind: .incident) == incident)
      // A cursor of incidents is not a valid cursor of reports, and vice versa, because each kind has its own numbers.
      #expect(StoreCursor(incident.description, of: epoch) == nil)
      #expect(StoreCursor(cursor.description, of: epoch, kind: .incident) == nil)
    }
    #expect(StoreCursor(bad, of: epoch) == nil && StoreCursor(bad, of: .none) == nil)
  }

  @Test("F21: a cursor's string hides its number, and depends on the store's key")
  func opaque() throws {
    // The key, the plaintext and the ciphertext are the published test vector of XTEA.
    let published = StoreEpoch(id: "", key: [0x0001_0203, 0x0405_0607, 0x0809_0a0b, 0x0c0d_0e0f])
    #expect(published.encrypted(0x4142_4344_4546_4748) == 0x497d_f3d0_7261_2cb5)
    #expect(published.decrypted(0x497d_f3d0_7261_2cb5) == 0x4142_4344_4546_4748)
    let directory = try TestDirectory()
    let stores = try ["a", "b"].map { try ReportStore(path: "\(directory.path)/\($0).sqlite") }
    let texts = stores.map { store in
      (1...3).map { StoreCursor(epoch: store.epoch, sequence: $0).description.split(separator: ".").last }
    }
    #expect(Set(texts.joined()).count == 6)
    // Encrypted numbers differ in their first eight digits, and not only in the last ones.
    #expect(Set(texts[0].map { $0?.prefix(8) }).count == 3)
    // A guessed cursor matches no event, because only one string in 2⁶³ is a valid cursor.
    for number in 0..<100 {
      let guessed = "\(stores[0].epoch).\(UInt64(number).hexadecimal(digits: 16))"
      #expect(throws: StoreError.self) {
        _ = try stores[0].events(after: try stores[0].cursor(guessed), limit: 1)
      }
    }
    for store in stores { try store.close() }
  }

  @Test("F21: a numeric cursor is accepted only if an older version of crashd can have issued it")
  func plain() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    let old = try ReportStore(path: path)
    for id in ["a1", "a2", "a3"] { _ = try old.put(Self.report(id), raw: []) }
    // Now the database is as an older version of crashd, which has no keys, leaves it.
    try old.write { try $0.execute(sql: "DELETE FROM meta WHERE key <> 'epoch'") }
    try old.close()
    for round in 0..<2 {
      let store = try ReportStore(path: path)
      if round == 0 { _ = try store.put(Self.report("a4"), raw: []) }
      let epoch = store.epoch
      #expect(try store.cursor("\(epoch)-1").sequence == 1)
      #expect(try store.events(after: store.cursor("\(epoch)-2"), limit: 9).map(\.id) == ["a3", "a4"])
      #expect(try store.cursor("\(epoch)-3").sequence == 3)
      // The old version has issued no cursor after 3. The error must be the same for the number 4, whose event exists
      // now, and for 5, which has no event.
      for number in [4, 5] {
        let text = "\(epoch)-\(number)"
        #expect(throws: StoreError.invalidCursor(text)) { try store.cursor(text) }
      }
      try store.close()
    }
  }

  @Test(
    "a store without a key opens on a full or read-only disk, with a key for this run only",
    arguments: [false, true])
  func fullDisk(isReadOnly: Bool) throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    let old = try ReportStore(path: path)
    _ = try old.put(Self.report("a1"), raw: [])
    try old.write { try $0.execute(sql: "DELETE FROM meta WHERE key <> 'epoch'") }
    try old.close()
    var configuration = Configuration()
    configuration.readonly = isReadOnly
    // SQLite raises this limit to the present number of pages, so the file cannot grow.
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA max_page_count = 1") }
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    if !isReadOnly {
      let error = #expect(throws: DatabaseError.self) {
        for number in 0..<10_000 {
          try queue.write {
            try $0.execute(sql: "INSERT INTO meta (key, value) VALUES (?, '')", arguments: ["\(number)"])
          }
        }
      }
      #expect(error?.resultCode == .SQLITE_FULL)
    }
    let epoch = try #require(try StoreEpoch.kept(in: queue))
    let cursor = StoreCursor(epoch: epoch, sequence: 1)
    #expect(StoreCursor(cursor.description, of: epoch) == cursor)
    #expect(epoch.sequence(of: "\(epoch)-1", .event) == 1)
    #expect(try queue.read { try StoreEpoch.stored(in: $0)?.isNew } == true)
    try queue.close()
    // The next run stores a key, because the disk has free space again.
    let stores = try (0..<2).map { _ in
      let store = try ReportStore(path: path)
      defer { try? store.close() }
      return store.epoch
    }
    #expect(stores[0] == stores[1] && stores[0] != epoch)
  }

  @Test("a store id of a wrong length is reported as a corrupt database")
  func idLength() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    let store = try ReportStore(path: path)
    try store.write {
      try $0.execute(
        sql: "UPDATE meta SET value = ? WHERE key = 'epoch'", arguments: [String(repeating: "\u{e9}", count: 16)])
    }
    try store.close()
    #expect(throws: StoreError.corrupt(path: path, reason: "it has no epoch")) { try ReportStore(path: path) }
  }

  @Test("F21: the same event has the same cursor after a restart")
  func restart() throws {
    let directory = try TestDirectory()
    let texts = try (0..<2).map { _ in
      let store = try ReportStore(path: directory.path + "/r.sqlite")
      _ = try store.put(Self.report("a1"), raw: [])
      let text = try store.newestCursor().description
      try store.close()
      return text
    }
    #expect(texts[0] == texts[1])
  }

  @Test("F21: a subscriber's lag includes only the reports of its own user")
  func behind() throws {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    _ = try store.enter(subscriber: "mail", uid: 1000, at: "2026-11-21T08:00:00.000000Z")
    for id in ["a1", "a2", "a3"] { _ = try store.put(Self.report(id, uid: id == "a2" ? 1000 : 0), raw: []) }
    #expect(try store.subscribers(visibility: .user(1000)).map(\.behind) == [1])
    #expect(try store.subscribers().map(\.behind) == [3])
    try store.close()
  }
}
