import CShimRing
import CrashProtocol
import CrashReport
import CrashRing
import CrashStore
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

/// Tests the method `Import`, which stores a crash from a record line, the crash record as one line of text.
@Suite("Import")
struct ImportTests {
  private static let method = "io.crashshield.Crashd.Import"

  /// Returns the record line of a ring, as the process of the ring writes it.
  private static func line(_ ring: TestRing, cut: [UInt16] = []) -> [String: JSONValue] {
    ["record": .string(TestRecordLine.text(of: ring.bytes, head: cut))]
  }

  @Test("a record line that is imported repeatedly has one report, which belongs to the caller")
  func once() async throws {
    var ring = TestRing(pid: 4711)
    ring.addImage(0)
    ring.addCrash()
    let line = Self.line(ring, cut: [0, 0, 0, 0, 0, 0, 0, 5])
    let id = ring.id
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      let first = try await client.call(Self.method, line)
      #expect(first == ["id": .string(id), "isNew": .bool(true)])
      let second = try await client.call(Self.method, line)
      #expect(second == ["id": .string(id), "isNew": .bool(false)])
      #expect(try daemon.store.count(visibility: .all) == 1)
      let report = try daemon.store.report(idPrefix: id).report
      #expect(report.source == .recordLine)
      #expect(report.process.pid == 4711 && report.process.uid == Int(geteuid()) && report.process.isPIDClaimed == true)
      #expect(report.machine == nil && report.losses == ["cutThreads": 5])
      let again = try await client.call("io.crashshield.Crashd.Reanalyse", ["id": .string(id)])
      #expect(again.object("report").string("source") == "record-line")
    }
  }

  @Test("the second record line of a process that survived its first crash has a separate report")
  func second() async throws {
    var ring = TestRing()
    ring.addCrash()
    let first = Self.line(ring)
    ring.addCrash(time_ns: 1_700_000_009_000_000_000)
    let second = Self.line(ring)
    let id = ring.id
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      #expect(try await client.call(Self.method, first).string("id") == id)
      let other = try await client.call(Self.method, second)
      #expect(other.string("id") != id && other["isNew"] == .bool(true))
      let again = try await client.call(Self.method, second)
      #expect(again.string("id") == other.string("id") && again["isNew"] == .bool(false))
      #expect(try await client.call(Self.method, first)["isNew"] == .bool(false))
      #expect(try daemon.store.count(visibility: .all) == 2)
    }
  }

  @Test("an imported record line does not replace a report that was made from the complete ring")
  func complete() async throws {
    var ring = TestRing()
    ring.addCrash()
    let left = ring
    try await TestDaemon.run(prepare: { try SpoolTests.leave(left, in: $0.spool) }) { daemon in
      let client = try await daemon.client()
      try await client.untilReports(1)
      #expect(try await client.call(Self.method, Self.line(left))["isNew"] == .bool(false))
      #expect(try daemon.store.report(idPrefix: left.id).report.source == nil)
    }
  }

  @Test("a later crash of a process has a separate report, although an earlier report has the ID of its ring")
  func later() async throws {
    var ring = TestRing()
    ring.addCrash()
    let left = ring
    ring.addCrash(time_ns: 1_700_000_009_000_000_000)
    let later = Self.line(ring)
    try await TestDaemon.run(prepare: { try SpoolTests.leave(left, in: $0.spool) }) { daemon in
      let client = try await daemon.client()
      try await client.untilReports(1)
      let reply = try await client.call(Self.method, later)
      #expect(reply.string("id") != left.id && reply["isNew"] == .bool(true))
      #expect(try daemon.store.count(visibility: .all) == 2)
    }
  }

  @Test("a record line whose report was removed is not stored again")
  func removed() async throws {
    var ring = TestRing()
    ring.addCrash()
    let (line, id) = (Self.line(ring), ring.id)
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      _ = try await client.call(Self.method, line)
      _ = try await client.call("io.crashshield.Crashd.Remove", ["ids": .array([.string(id)])])
      #expect(try await client.call(Self.method, line) == ["id": .string(id), "isNew": .bool(false)])
      #expect(try daemon.store.count(visibility: .all) == 0)
    }
  }

  @Test("an imported crash is not treated as the last crash of a program on this machine")
  func lastCrash() async throws {
    var ring = TestRing()
    ring.addCrash()
    let line = Self.line(ring)
    try await TestDaemon.run { daemon in
      _ = try await daemon.client().call(Self.method, line)
      #expect(try daemon.store.newest(uid: geteuid(), executable: "/srv/shop", name: "shop") == nil)
    }
  }

  @Test("a string that is not a whole record line is refused with the reason, and nothing is stored")
  func refused() async throws {
    var ring = TestRing()
    ring.addCrash()
    let text = TestRecordLine.text(of: ring.bytes)
    let cases = [
      ("", "it does not begin with"), ("crashshield-record:9:AA", "it has version '9'"),
      (String(text.dropLast(9)), "it is cut"), (text.replacing("A", with: "B"), "it"),
      (TestRecordLine.text(TestRecordLine.payload([0x80])), "it is malformed"),
      (TestRecordLine.text(of: TestRing().bytes), "it has no complete record"),
    ]
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      for (text, reason) in cases {
        try await client.send(Self.method, ["record": .string(text)])
        let reply = try await client.reply()
        #expect(reply.string("error") == "io.crashshield.Crashd.InvalidRecord")
        #expect(reply.object("parameters").string("reason")?.hasPrefix(reason) == true)
      }
      #expect(try daemon.store.count(visibility: .all) == 0)
    }
  }

  @Test(
    "if two users import one record line, there are two reports with different ids, each visible to its user",
    .enabled("only root can connect as another user") { geteuid() == 0 })
  func users() async throws {
    var ring = TestRing()
    ring.addCrash()
    let line = Self.line(ring)
    ring.addCrash(time_ns: 1_700_000_009_000_000_000)
    let later = Self.line(ring)
    try await TestDaemon.run(limits: .patient, configure: { $0.settings.accessGroup = .noGroup }) { daemon in
      let one = try await daemon.client(as: TestUser(uid: 54_001, gid: 54_001))
      let other = try await daemon.client(as: TestUser(uid: 54_002, gid: 54_002))
      let (first, second) = (try await one.call(Self.method, line), try await other.call(Self.method, line))
      #expect(first.string("id") != second.string("id") && second["isNew"] == .bool(true))
      let third = try await other.call(Self.method, later)
      #expect(third.string("id") != second.string("id") && third["isNew"] == .bool(true))
      for (client, count) in [(one, 1), (other, 2)] {
        #expect(try await client.call("io.crashshield.Crashd.List").array("reports").count == count)
      }
    }
  }
}
