import CShimRing
import CrashProtocol
import CrashReport
import CrashStore
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

/// Tests that a user who reaches a limit does not affect the limits of other users.
///
/// The tests connect to real sockets as several users.
///
/// The suites about symbols and about the spool test the limits of symbol jobs and of spool files.
@Suite("Limits per user", .enabled("only root can connect as another user") { geteuid() == 0 })
struct PerUserLimitTests {
  private static let greedy = TestUser(uid: 54_021, gid: 54_021)
  private static let other = TestUser(uid: 54_022, gid: 54_022)
  private static let root = TestUser(uid: 0, gid: 0)

  struct AttachLimit: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var set: @Sendable (inout Limits) -> Void
    var reason: String
  }

  static let attachLimits: [AttachLimit] = [
    AttachLimit(
      testDescription: "processes", set: { $0.processesPerUser = 1 }, reason: "1 processes of uid 54021 are attached"),
    AttachLimit(testDescription: "rings", set: { $0.ringsPerUser = 1 }, reason: "1 rings of uid 54021 are held"),
    AttachLimit(
      testDescription: "attaches in a minute", set: { $0.attachesPerMinute = 1 },
      reason: "more than 1 processes a minute"),
  ]

  @Test(
    "at a limit of one, a user's second process is refused, but not those of another user and of root",
    arguments: attachLimits)
  func attach(_ limit: AttachLimit) async throws {
    var limits = Limits.patient
    limit.set(&limits)
    try await TestDaemon.run(limits: limits) { daemon in
      let ring = { try TestRing().memory() }
      let first = try await daemon.attach(as: Self.greedy)
      #expect(try await first.attach(ring()) == .accepted)
      let second = try await daemon.attach(as: Self.greedy)
      try second.send(TestProcess.hello(), [ring()])
      let reply = try #require(try await second.reply())
      #expect(reply.status == .limit)
      #expect(reply.text.contains(limit.reason))
      var others: [TestProcess] = []
      for user in [Self.other, Self.root, Self.root] {
        let process = try await daemon.attach(as: user)
        #expect(try await process.attach(ring()) == .accepted)
        others.append(process)
      }
      #expect(try await daemon.refusals()["attach"] == .int(1))
    }
  }

  @Test("a user with a silent first connection gets no second connection, and other users do")
  func greetings() async throws {
    var limits = Limits.patient
    limits.greetingsPerUser = 1
    try await TestDaemon.run(limits: limits) { daemon in
      let silent = try await daemon.attach(as: Self.greedy)
      let second = try await daemon.attach(as: Self.greedy)
      let reply = try #require(try await second.reply())
      #expect(reply.status == .limit)
      let process = try await daemon.attach(as: Self.other)
      #expect(try await process.attach(TestRing().memory()) == .accepted)
      // The silent client is still connected: when it sends its hello now, crashd accepts it.
      #expect(try await silent.attach(TestRing().memory()) == .accepted)
    }
  }

  @Test("a ring is counted towards its user's limit until it is released")
  func ringReturns() async throws {
    var limits = Limits.patient
    limits.ringsPerUser = 1
    try await TestDaemon.run(limits: limits) { daemon in
      let client = try await daemon.client()
      let first = try await daemon.attach(as: Self.greedy)
      #expect(try await first.attach(TestRing().memory()) == .accepted)
      first.hangUp()
      try await client.until {
        let next = try await daemon.attach(as: Self.greedy)
        return try await next.attach(TestRing(id: 1).memory()) == .accepted
      }
    }
  }

  @Test("a user's client beyond the limit is closed until another ends; other users' clients are served")
  func clients() async throws {
    let method = "io.crashshield.Crashd.Status"
    var limits = Limits.patient
    limits.connectionsPerUser = 1
    // The user is a member of the access group. Members see all reports, but have the same limit of connections as
    // other users.
    let group = AccessGroup.numbered(Self.greedy.gid)
    try await TestDaemon.run(limits: limits, configure: { $0.settings.accessGroup = group }) { daemon in
      let first = try await daemon.client(as: Self.greedy)
      #expect(try await !first.call(method).isEmpty)
      let second = try await daemon.client(as: Self.greedy)
      try await second.hangUp()
      #expect(daemon.log.contains("uid 54021: too many connections"))
      var others: [TestClient] = []
      for user in [Self.other, Self.root, Self.root] {
        let client = try await daemon.client(as: user)
        #expect(try await !client.call(method).isEmpty)
        others.append(client)
      }
      first.close()
      try await others[1].until {
        let next = try await daemon.client(as: Self.greedy)
        do { return try await !next.call(method).isEmpty } catch is SystemError { return false }
      }
    }
  }

  @Test("F11: a refused client gets the reason, and root is served when other users have used up the permits")
  func keptPlaces() async throws {
    let method = "io.crashshield.Crashd.Status"
    var limits = Limits.patient
    limits.connections = 16
    try await TestDaemon.run(limits: limits) { daemon in
      var clients: [TestClient] = []
      for uid in 0..<UInt32(15) {
        let client = try await daemon.client(as: TestUser(uid: 54_100 + uid, gid: 54_100))
        #expect(try await !client.call(method).isEmpty)
        clients.append(client)
      }
      let refused = try await daemon.client(as: TestUser(uid: 54_200, gid: 54_100))
      let reply = try await refused.reply()
      #expect(reply.string("error") == "io.crashshield.Crashd.TooManyClients")
      #expect(reply.object("parameters") == ["limit": .int(15)])
      #expect(try await !daemon.client(as: Self.root).call(method).isEmpty)
    }
  }

  @Test("F3: a client beyond the limit is refused at once, even while others hold all threads for untrusted calls")
  func refusedAtOnce() async throws {
    var limits = Limits.patient
    limits.connectionsPerUser = 1
    try await TestDaemon.run(limits: limits) { daemon in
      let isOver = try MutexFlag.alarm {}
      defer { _ = isOver.set() }
      // crashd counts a connection on its event loop. Without this call, the second connection, on another event loop,
      // can be counted first.
      let first = try await daemon.client(as: Self.greedy)
      #expect(try await !first.call("io.crashshield.Crashd.Status").isEmpty)
      // These tasks stand for expensive calls. They use all threads that crashd has for untrusted calls.
      let busy = (0..<4 * sysconf(Int32(_SC_NPROCESSORS_ONLN))).map { _ in
        Task.detached(priority: .low) { while !isOver.isSet {} }
      }
      let second = try await daemon.client(as: Self.greedy)
      #expect(try await second.reply().string("error") == "io.crashshield.Crashd.TooManyClients")
      #expect(isOver.set())
      for task in busy { await task.value }
      #expect(try await !first.call("io.crashshield.Crashd.Status").isEmpty)
    }
  }

  @Test("F11: clients and processes of a user's subordinate uids are counted towards the limits of that user")
  func subordinates() async throws {
    let directory = try TestDirectory()
    var limits = Limits.patient
    limits.accounts = UserAccounts(
      ranges: try directory.write(Array("54021:54300:16\n".utf8), to: "subuid"), users: "/nowhere")
    (limits.connectionsPerUser, limits.processesPerUser) = (1, 1)
    try await TestDaemon.run(limits: limits) { daemon in
      let ring = { try TestRing().memory() }
      let second = TestUser(uid: 54_301, gid: 54_301)
      let first = try await daemon.client(as: Self.greedy)
      #expect(try await !first.call("io.crashshield.Crashd.Status").isEmpty)
      #expect(
        try await daemon.client(as: second).reply().string("error") == "io.crashshield.Crashd.TooManyClients")
      let process = try await daemon.attach(as: Self.greedy)
      #expect(try await process.attach(ring()) == .accepted)
      #expect(try await daemon.attach(as: second).attach(ring()) == .limit)
      #expect(try await daemon.attach(as: Self.other).attach(ring()) == .accepted)
    }
  }

  @Test("F3: one user's unread subscriptions hold few pages of events, and other users get their events")
  func subscribers() async throws {
    let method = "io.crashshield.Crashd.Subscribe"
    var limits = Limits.patient
    limits.eventPagesPerUser = 1
    try await TestDaemon.run(limits: limits) { daemon in
      for id in 10..<14 {
        var report = try CrashReport.sample(id: "aa\(id)", bytes: 1 << 20)
        report.process.uid = Int(Self.greedy.uid)
        _ = try daemon.store.put(report, raw: [])
      }
      let start = ["cursor": JSONValue.string("\(daemon.store.epoch)-0")]
      let slow = try await daemon.client(as: Self.greedy)
      try await slow.send(method, start, more: true)
      // The client reads only the reply. The page with the events stays in crashd's memory until the client has read
      // it.
      _ = try await slow.reply()
      let second = try await daemon.client(as: Self.greedy)
      try await second.send(method, start, more: true)
      _ = try await second.reply()
      while daemon.hub.pages.waitingCount == 0 { await Task.yield() }
      let root = try await daemon.client(as: Self.root)
      try await root.send(method, start, more: true)
      _ = try await root.reply()
      for id in 10..<14 { #expect(try await root.event().id == "aa\(id)") }
      #expect(daemon.hub.pages.waitingCount == 1)
      slow.close()
      for id in 10..<14 { #expect(try await second.event().id == "aa\(id)") }
    }
  }

  @Test("F3: events sent to a subscriber are charged to its user's CPU time")
  func subscriberPace() async throws {
    var limits = Limits.patient
    // With these limits, a user waits a hundred times as long as the CPU time beyond 1 ms. Therefore a stall of the
    // machine between two pages cannot hide the wait.
    (limits.callBurst_ms, limits.callShare_percent) = (1, 1)
    (limits.connectionCharge_us, limits.eventBatch) = (0, 1)
    try await TestDaemon.run(limits: limits) { daemon in
      for id in 10..<14 {
        var report = try CrashReport.sample(id: "aa\(id)", bytes: 300_000)
        report.process.uid = Int(Self.greedy.uid)
        _ = try daemon.store.put(report, raw: [])
      }
      let client = try await daemon.client(as: Self.greedy)
      try await client.send(
        "io.crashshield.Crashd.Subscribe", ["cursor": .string("\(daemon.store.epoch)-0")], more: true)
      _ = try await client.reply()
      for id in 10..<14 { #expect(try await client.event().id == "aa\(id)") }
      #expect(try await daemon.refusals()["pace"] != nil)
    }
  }

  @Test("F11: the policy accepts programs of root even when other users have used up all entries")
  func keptPolicies() async throws {
    var limits = Limits.patient
    limits.danglingServices = 16
    let daemon = try TestDaemon(TestDirectory(), limits: limits)
    let policy = try #require(daemon.analysis.policy)
    let make = { (uid: UInt32) in
      await policy.makeService(ServiceKey(uid: uid, program: "/x"), name: "", peer: Peer(pid: 1, uid: uid))
    }
    for uid in 0..<UInt32(15) { #expect(await make(54_100 + uid)) }
    #expect(await !make(54_200))
    #expect(await make(0))
  }

  @Test(
    "F11: for each limit on the number of users, one entry is reserved for root",
    arguments: [(1, 1), (2, 1), (4, 3), (16, 15), (64, 60)])
  func fewPlaces(all: Int, rest: Int) {
    let limits = Limits()
    #expect(limits.places(all, for: Self.greedy.uid) == rest && limits.places(all, for: geteuid()) == all)
  }

  @Test("F21: another user's losses, refusals and store do not appear in a user's status and metrics")
  func ownStatus() async throws {
    try await TestDaemon.run { daemon in
      let ledger = daemon.analysis.ledger
      ledger.lose(["torn": 3], of: Peer(pid: 1, uid: Self.other.uid), process: "shop")
      ledger.lose(["torn": 1], of: Peer(pid: 1, uid: Self.greedy.uid), process: "till")
      ledger.refuse("call", from: Peer(pid: 1, uid: Self.other.uid), because: "of a test")
      let own = try await daemon.client(as: Self.greedy).call("io.crashshield.Crashd.Status")
      #expect(own.object("losses") == ["torn": .int(1)] && own.object("refusals").isEmpty)
      #expect(own.int("storeBytes") == 0 && own.int("held") == 0)
      let all = try await daemon.client(as: Self.root).call("io.crashshield.Crashd.Status")
      #expect(all.object("losses") == ["torn": .int(4)] && all.object("refusals")["call"] == .int(1))
      let metrics = try await daemon.client(as: Self.greedy).call("io.crashshield.Crashd.Metrics").string("text") ?? ""
      #expect(metrics.contains("crashd_losses_total{kind=\"torn\"} 1\n") && !metrics.contains("crashd_store_bytes"))
    }
  }

  @Test("one user alone holds at most half of the descriptors that crashd may open")
  func descriptors() {
    let limits = Limits()
    // The sum of the descriptor limits of one user. `Limits.descriptors` is the sum of the limits of all users
    // together.
    let own =
      limits.ringsPerUser + 2 * limits.processesPerUser + limits.endingsPerUser + limits.greetingsPerUser
      + limits.symbolJobsPerUser + limits.unwindTablesPerUser + limits.connectionsPerUser
    #expect(2 * own <= limits.descriptors)
    #expect(2 * limits.ringsPerUser <= limits.rings && 2 * limits.processesPerUser <= limits.processes)
    #expect(2 * limits.symbolJobsPerUser <= limits.heldDescriptors)
    #expect(2 * limits.connectionsPerUser <= limits.connections && 2 * limits.endingsPerUser <= limits.endings)
    let places = [
      (limits.symbolJobsAtOncePerUser, limits.symbolJobs), (limits.hastySymbolJobsPerUser, limits.hastySymbolJobs),
      (limits.scopesPerUser, limits.scopes), (limits.unwindTableJobsPerUser, limits.unwindTableJobs),
    ]
    for (own, all) in places { #expect(own < limits.places(all, for: Self.greedy.uid)) }
  }
}
