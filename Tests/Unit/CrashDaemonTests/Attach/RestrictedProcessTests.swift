import CShimRing
import CrashProtocol
import CrashReport
import CrashStore
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

/// Tests processes with more privileges than their user.
///
/// The tests connect to real sockets as several users.
@Suite(
  "A non-dumpable process", .enabled("only root can connect as another user") { geteuid() == 0 })
struct RestrictedProcessTests {
  private static let user = TestUser(uid: 54_021, gid: 54_021)
  private static let secret = Array("tulip-stack-4711".utf8)

  @Test(
    "F6: only root sees a non-dumpable process's report, which has no memory even if the record has some",
    arguments: [false, true])
  func report(isRestricted: Bool) async throws {
    try await TestDaemon.run { daemon in
      var ring = TestRing(id: 3)
      ring.addCrash(stack: Self.secret + [UInt8](repeating: 1, count: 48))
      var user = Self.user
      user.isRestricted = isRestricted
      let process = try await daemon.attach(as: user)
      #expect(try await process.attach(ring.memory()) == .accepted)
      try process.wake()
      try await daemon.client().untilReports(1)
      let stored = try daemon.store.reportAndRaw(idPrefix: ring.id)
      #expect(stored.report.process.uid == 54_021)
      #expect(stored.report.process.isRestricted == (isRestricted ? true : nil))
      let excerpt = try #require(RingExcerpt.unpack(stored.raw))
      #expect(excerpt.contains(bytes: Self.secret) != isRestricted)
      let own = try await daemon.client(as: Self.user)
      let seen = try await own.call("io.crashshield.Crashd.List").array("reports")
      #expect(seen.count == (isRestricted ? 0 : 1))
      let all = try await daemon.client().call("io.crashshield.Crashd.List").array("reports")
      #expect(all.count == 1)
      process.hangUp()
    }
  }

  @Test("F6: a ring that is marked as non-dumpable also gives a report that only root can read")
  func ringsWord() async throws {
    try await TestDaemon.run { daemon in
      var ring = TestRing(id: 4)
      ring.addCrash()
      ring.setRestricted()
      let process = try await daemon.attach(as: Self.user)
      #expect(try await process.attach(ring.memory()) == .accepted)
      try process.wake()
      try await daemon.client().untilReports(1)
      #expect(try daemon.store.count(visibility: .user(54_021)) == 0)
      process.hangUp()
    }
  }

  @Test(
    "F6: a spooled copy of a non-dumpable process's ring gives neither root nor its user a second report",
    arguments: [false, true])
  func spooled(hasMore: Bool) async throws {
    try await TestDaemon.run { daemon in
      var ring = TestRing(id: 5)
      ring.addCrash(stack: Self.secret + [UInt8](repeating: 1, count: 48))
      var user = Self.user
      user.isRestricted = true
      let process = try await daemon.attach(as: user)
      #expect(try await process.attach(ring.memory()) == .accepted)
      try process.wake()
      let client = try await daemon.client()
      try await client.untilReports(1)
      process.hangUp()
      try await client.until {
        try await client.call("io.crashshield.Crashd.Processes").array("processes").isEmpty
      }
      let before = try daemon.store.report(idPrefix: ring.id)
      if hasMore { ring.addCrash(slot: 1, stack: Self.secret + [UInt8](repeating: 1, count: 48)) }
      try SpoolTests.leave(ring, in: daemon.directories.spool, owner: 54_021)
      try await SpoolTests.untilEmpty(daemon, client)
      #expect(try daemon.store.count() == 1 && daemon.store.count(visibility: .user(54_021)) == 0)
      let stored = try daemon.store.reportAndRaw(idPrefix: ring.id)
      #expect((stored.cursor == before.cursor) == !hasMore)
      #expect(stored.report.threads.count == (hasMore ? 2 : 1))
      #expect(stored.report.process.isRestricted == true && stored.report.process.isPIDClaimed == nil)
      let excerpt = try #require(RingExcerpt.unpack(stored.raw))
      #expect(!excerpt.contains(bytes: Self.secret))
    }
  }

  @Test("an ended process is not treated as non-dumpable because of the owner of its /proc directory")
  func owners() throws {
    let own = try #require(ProcessStat.read(pid: getpid()))
    #expect(ProcessOwner.isRestricted(0, own, user: 1_000))
    #expect(!ProcessOwner.isRestricted(1_000, own, user: 1_000))
    #expect(!ProcessOwner.isRestricted(nil, own, user: 1_000))
    var ended = own
    ended.state = "Z"
    #expect(!ProcessOwner.isRestricted(0, ended, user: 1_000))
  }
}
