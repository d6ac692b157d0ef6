import CTestKit
import CrashProtocol
import CrashReport
import CrashStore
import Glibc
import Testing

@testable import CrashDaemon

/// Tests connections of other users and groups on real sockets.
///
/// Only root can connect as another user.
@Suite("Access on the sockets", .enabled("only root can connect as another user") { geteuid() == 0 })
struct AccessTests {
  private static let own = "io.crashshield.Crashd"
  private static let group: UInt32 = 54_000

  private static let stranger = TestUser(uid: 54_001, gid: 54_001)
  private static let member = TestUser(uid: 54_002, gid: 54_002, groups: [54_100, 54_000])
  private static let owner: UInt32 = 54_003

  /// Runs a crashd whose access group is `group`, with one report of `owner` and one of root.
  private func run(
    _ group: AccessGroup = .numbered(Self.group), root: RootAccess = .host,
    _ body: (TestDaemon) async throws -> Void
  ) async throws {
    var limits = Limits.patient
    // A short limit, because the processes of these tests do not answer control messages, for which crashd would wait.
    limits.control_ms = 10
    try await TestDaemon.run(
      limits: limits, configure: { ($0.settings.accessGroup, $0.settings.accessRoot) = (group, root) }
    ) { daemon in
      _ = try daemon.store.put(Self.report("aa", of: Self.owner), raw: [])
      _ = try daemon.store.put(Self.report("bb", of: 0), raw: [])
      try await body(daemon)
    }
  }

  private static func report(_ id: String, of uid: UInt32) throws -> CrashReport {
    var report = try CrashReport.sample(id: id)
    report.process.uid = Int(uid)
    return report
  }

  struct Someone: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var user: TestUser
    var seesAll: Bool
  }

  static let people: [Someone] = [
    Someone(testDescription: "a stranger", user: stranger, seesAll: false),
    Someone(testDescription: "a member", user: member, seesAll: true),
    Someone(testDescription: "a member by primary group", user: TestUser(uid: 54_004, gid: group), seesAll: true),
    Someone(testDescription: "root in no group", user: TestUser(uid: 0, gid: 54_005), seesAll: true),
    Someone(testDescription: "root's group alone", user: TestUser(uid: 54_006, gid: 0, groups: [0]), seesAll: false),
    Someone(
      testDescription: "a user with the group's number", user: TestUser(uid: group, gid: 54_007), seesAll: false),
    Someone(
      testDescription: "the neighbours", user: TestUser(uid: 54_008, gid: group - 1, groups: [group + 1]),
      seesAll: false),
    // The first peer has more groups than crashd's buffer for its first request to the kernel. The second one has as
    // many as the kernel allows.
    Someone(
      testDescription: "one of 65 groups", user: TestUser(uid: 54_009, gid: 1, groups: Array(100..<164) + [group]),
      seesAll: true),
    Someone(
      testDescription: "one of all groups", user: TestUser(uid: 54_010, gid: 1, groups: Array(1...65_536)),
      seesAll: true),
    Someone(
      testDescription: "all other groups", user: TestUser(uid: 54_011, gid: 1, groups: Array(60_001...125_536)),
      seesAll: false),
  ]

  @Test(
    "which reports a client sees depends on the user and groups that the kernel reports for the client",
    arguments: people)
  func visibility(_ someone: Someone) async throws {
    try await run { daemon in
      let client = try await daemon.client(as: someone.user)
      let status = try await client.call("\(Self.own).Status")
      #expect(
        status.object("access") == [
          "uid": .int(Int(someone.user.uid)), "all": .bool(someone.seesAll), "group": .string("54000"),
        ])
      #expect(status.int("reports") == (someone.seesAll ? 2 : 0))
      #expect(try await client.call("\(Self.own).List").array("reports").count == (someone.seesAll ? 2 : 0))
      #expect(try await daemon.refusals()["group"] == nil)
    }
  }

  private static let foreigners: [Someone] = [
    Someone(
      testDescription: "root of another pid namespace", user: TestUser(uid: 0, gid: 0, namespaces: CD_TEST_NEW_PIDS),
      seesAll: false),
    Someone(
      testDescription: "root of another user namespace", user: TestUser(uid: 0, gid: 0, namespaces: CD_TEST_NEW_USERS),
      seesAll: false),
    Someone(
      testDescription: "root of another pid and user namespace",
      user: TestUser(uid: 0, gid: 0, namespaces: CD_TEST_NEW_PIDS | CD_TEST_NEW_USERS), seesAll: false),
    Someone(
      testDescription: "a member of the group in another pid namespace",
      user: TestUser(uid: 54_002, gid: group, namespaces: CD_TEST_NEW_PIDS), seesAll: false),
    Someone(
      testDescription: "root of another network, mount and host name",
      user: TestUser(
        uid: 0, gid: 0,
        namespaces: CD_TEST_NEW_NETWORK | CD_TEST_NEW_MOUNTS | CD_TEST_NEW_HOSTNAME | CD_TEST_NEW_IPC),
      seesAll: true),
  ]

  @Test(
    "root and members of another pid or user namespace see only reports of their uid, unless access.root is all",
    arguments: foreigners, [RootAccess.host, .all])
  func foreign(_ someone: Someone, root: RootAccess) async throws {
    try await run(root: root) { daemon in
      let client = try await daemon.client(as: someone.user)
      let seesAll = someone.seesAll || root == .all
      let status = try await client.call("\(Self.own).Status")
      #expect(status.object("access")["all"] == .bool(seesAll))
      #expect(status.object("access")["isForeign"] == (seesAll ? nil : .bool(true)))
      let ids = try await client.call("\(Self.own).List").array("reports").map { $0["id"] }
      #expect(ids == (seesAll ? [.string("bb"), .string("aa")] : someone.user.uid == 0 ? [.string("bb")] : []))
    }
  }

  @Test("without an access group, membership in that group grants no access", arguments: [AccessGroup.noGroup, .own])
  func noGroup(_ group: AccessGroup) async throws {
    try await run(group) { daemon in
      let client = try await daemon.client(as: Self.member)
      let access = try await client.call("\(Self.own).Status").object("access")
      #expect(access == ["uid": .int(54_002), "all": .bool(false)])
      #expect(try await client.call("\(Self.own).List").array("reports").isEmpty)
    }
  }

  @Test("a member of the access group can remove and prune reports of other users; another user cannot")
  func removal() async throws {
    try await run { daemon in
      let stranger = try await daemon.client(as: Self.stranger)
      let member = try await daemon.client(as: Self.member)
      let one: [String: JSONValue] = ["ids": .array([.string("aa")])]
      let old: [String: JSONValue] = ["before": .string("2100-01-01T00:00:00Z")]
      try await stranger.send("\(Self.own).Remove", one)
      #expect(try await stranger.reply().string("error") == "\(Self.own).NoSuchReport")
      #expect(try await stranger.call("\(Self.own).Prune", old).int("removed") == 0)
      #expect(try await member.call("\(Self.own).Remove", one).array("removed") == [.string("aa")])
      #expect(try await member.call("\(Self.own).Prune", old).int("removed") == 1)
      #expect(try daemon.store.count(visibility: .all) == 0)
    }
  }

  @Test("a member of the access group can read, resolve and reanalyze reports of other users; another user cannot")
  func reports() async throws {
    try await run { daemon in
      let stranger = try await daemon.client(as: Self.stranger)
      let member = try await daemon.client(as: Self.member)
      let id: [String: JSONValue] = ["id": .string("aa")]
      for method in ["Get", "Reanalyse", "Explain"] {
        try await stranger.send("\(Self.own).\(method)", id)
        #expect(try await stranger.reply().string("error") == "\(Self.own).NoSuchReport")
      }
      #expect(try await member.call("\(Self.own).Get", id).object("report").string("id") == "aa")
      for method in ["Reanalyse", "Explain"] {
        // This error shows that the member has access: the call fails only because the report has no raw record.
        try await member.send("\(Self.own).\(method)", id)
        #expect(try await member.reply().string("error") == "\(Self.own).NotReanalysable")
      }
      let group = try daemon.store.report(idPrefix: "aa", visibility: .all).report.group.key
      let resolution: [String: JSONValue] = ["key": .string(group), "resolved": .bool(true)]
      try await stranger.send("\(Self.own).ResolveGroup", resolution)
      #expect(try await stranger.reply().string("error") == "\(Self.own).NoSuchGroup")
      #expect(try await member.call("\(Self.own).ResolveGroup", resolution).string("key") == group)
    }
  }

  @Test("an access group member can set policies and guard modes of all programs; others do not see these programs")
  func services() async throws {
    try await run { daemon in
      let process = try await daemon.attach(as: TestUser(uid: Self.owner, gid: Self.owner))
      #expect(try await process.attach(TestRing().memory()) == .accepted)
      let name = JSONValue.string("/srv/shop")
      let changes: [(String, [String: JSONValue])] = [
        ("GuardSet", ["mode": .string("observe"), "name": name]), ("PolicySet", ["name": name, "pin": .string("off")]),
        ("DanglingProtect", ["class": .string("shop.Cart"), "name": name]),
        ("DanglingRelease", ["class": .string("shop.Cart"), "name": name]),
      ]
      for (method, parameters) in changes {
        let stranger = try await daemon.client(as: Self.stranger)
        try await stranger.send("\(Self.own).\(method)", parameters)
        #expect(try await stranger.reply().string("error") == "\(Self.own).NoSuchService", "\(method)")
        let member = try await daemon.client(as: Self.member)
        #expect(try await member.call("\(Self.own).\(method)", parameters).int("processes") == 1, "\(method)")
      }
      let seen = try await daemon.client(as: Self.stranger).call("\(Self.own).Processes").array("processes")
      #expect(seen.isEmpty)
      #expect(try await daemon.client(as: Self.member).call("\(Self.own).Processes").array("processes").count == 1)
    }
  }

  @Test("a member of the access group manages subscribers of other users by uid, and its own without a uid")
  func subscribers() async throws {
    try await run { daemon in
      let cursor = try daemon.store.enter(subscriber: "mail", uid: Self.owner, at: "2026-01-01T00:00:00Z")
      _ = try daemon.store.put(Self.report("cc", of: 0), raw: [])
      let newest = try daemon.store.newestCursor()
      let name: [String: JSONValue] = ["subscriber": .string("mail"), "uid": .int(Int(Self.owner))]
      let ack = name.merging(["cursor": .string(newest.description)]) { $1 }
      let stranger = try await daemon.client(as: Self.stranger)
      for (method, parameters) in [("Cursor", name), ("Ack", ack), ("Unsubscribe", name)] {
        try await stranger.send("\(Self.own).\(method)", parameters)
        #expect(try await stranger.reply().string("error") == "\(Self.own).NoSuchSubscriber", "\(method)")
      }
      #expect(try daemon.store.cursor(ofSubscriber: "mail", uid: Self.owner) == cursor)
      let member = try await daemon.client(as: Self.member)
      #expect(try await member.call("\(Self.own).Subscribers").array("subscribers").count == 1)
      #expect(try await member.call("\(Self.own).Cursor", name).string("cursor") == cursor.description)
      #expect(try await member.call("\(Self.own).Ack", ack).string("cursor") == newest.description)
      // Without a uid, the name `mail` means a subscriber of the member, who has none with this name.
      try await member.send("\(Self.own).Cursor", ["subscriber": .string("mail")])
      #expect(try await member.reply().string("error") == "\(Self.own).NoSuchSubscriber")
      _ = try await member.call("\(Self.own).Unsubscribe", name)
      #expect(try daemon.store.subscribers().isEmpty)
    }
  }

  @Test("a member of the access group can subscribe to all users' crashes; another user only to its own")
  func following() async throws {
    try await run { daemon in
      let start: [String: JSONValue] = ["cursor": .string("\(daemon.store.epoch)-0")]
      let member = try await daemon.client(as: Self.member)
      try await member.send("\(Self.own).Subscribe", start, more: true)
      _ = try await member.reply()
      #expect(try await member.event().id == "aa")
      #expect(try await member.event().id == "bb")
      _ = try daemon.store.put(Self.report("cc", of: Self.stranger.uid), raw: [])
      let stranger = try await daemon.client(as: Self.stranger)
      try await stranger.send("\(Self.own).Subscribe", start, more: true)
      _ = try await stranger.reply()
      #expect(try await stranger.event().id == "cc")
    }
  }
}
