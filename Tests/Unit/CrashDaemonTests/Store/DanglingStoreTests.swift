import CrashProtocol
import FoundationEssentials
import GRDB
import TestKit
import Testing

@testable import CrashStore

@Suite("Protection policies in the store")
struct DanglingStoreTests {
  private static func event(_ uid: UInt32, _ program: String, _ number: Int) -> DanglingEvent {
    DanglingEvent(uid: uid, program: program, time: "2026-11-22T10:00:00Z", json: Data("\(number)".utf8))
  }

  @Test("a stored protection policy is replaced as a whole, and its events are listed, latest first")
  func roundTrip() throws {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    var state = DanglingState(uid: 7, program: "/srv/shop", policy: Data([1, 2]), classes: Data([3]))
    try store.put(dangling: state, events: [Self.event(7, "/srv/shop", 1)])
    state.policy = Data([9])
    try store.put(dangling: state, events: [Self.event(7, "/srv/shop", 2)])
    let other = DanglingState(uid: 8, program: "/srv/shop", policy: Data(), classes: Data())
    try store.put(dangling: other, events: [Self.event(8, "/srv/other", 3)])
    #expect(try store.danglingStates() == [state, other])
    #expect(try store.danglingEvents(limit: 10).map { Array($0.json) } == [[0x33], [0x32], [0x31]])
    #expect(try store.danglingEvents(limit: 2).count == 2)
    #expect(try store.danglingEvents(visibility: .user(7), limit: 10).map { Array($0.json) } == [[0x32], [0x31]])
    #expect(try store.danglingEvents(programs: ["/srv/other"], limit: 10).map { Array($0.json) } == [[0x33]])
    try store.forgetDangling(uid: 7, program: "/srv/shop")
    #expect(try store.danglingStates() == [other])
    #expect(try store.danglingEvents(limit: 10).count == 3)
    try store.close()
  }

  @Test("a store of the previous version gets the new tables and keeps its contents")
  func migration() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    let old = try DatabaseQueue(path: path)
    try old.write { try $0.execute(sql: "PRAGMA application_id = \(StoreSchema.applicationID)") }
    try StoreSchema.migrator.migrate(old, upTo: "v5")
    try old.write { database in
      try database.execute(
        sql: "INSERT INTO subscribers (name, uid, acked, time) VALUES ('who', 1, 0, '2026-11-22T10:00:00Z')")
    }
    try old.close()
    let store = try ReportStore(path: path)
    #expect(try store.danglingStates().isEmpty && store.danglingEvents(limit: 1).isEmpty)
    #expect(try store.subscribers().map(\.name) == ["who"])
    try store.put(dangling: DanglingState(uid: 1, program: "p", policy: Data(), classes: Data()))
    #expect(try store.danglingStates().count == 1)
    try store.close()
  }
}
