import CrashProtocol
import CrashReport
import CrashRing
import CrashStore
import CrashSymbols
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

@Suite("The first crash of a build")
struct FirstCrashTests {
  private static let interface = "io.crashshield.Crashd."

  /// Runs a daemon, with the ring of a crash whose symbols are not read before the test calls `open`.
  ///
  /// crash-analyse reads the symbols only after the test has opened the gate.
  private func withGate(
    _ limits: Limits = .patient, _ body: (TestDaemon, TestRing, _ open: () -> Void) async throws -> Void
  ) async throws {
    let directory = try TestDirectory()
    let analyser = try GatedAnalyser(in: directory)
    var ring = TestRing()
    ring.addImage(0, path: try directory.write([1], to: "image"))
    ring.addCrash()
    var limits = limits
    limits.symbolWait_ms = 600_000
    let crashed = ring
    try await TestDaemon.run(limits: limits, analysePath: analyser.program) { daemon in
      do {
        try await body(daemon, crashed, analyser.open)
      } catch {
        // Without this call, crashd would not stop, because it first stores the crash.
        analyser.open()
        throw error
      }
    }
  }

  private func crash(_ ring: TestRing, in daemon: TestDaemon) async throws -> TestProcess {
    let process = try await daemon.attach()
    #expect(try await process.attach(ring.memory()) == .accepted)
    try process.wake()
    return process
  }

  /// Returns the reports of `List` as soon as there is one.
  private func listed(_ client: TestClient) async throws -> [JSONValue] {
    var reports: [JSONValue] = []
    try await client.until {
      reports = try await client.call(Self.interface + "List").array("reports")
      return !reports.isEmpty
    }
    return reports
  }

  @Test("first crash: a report is shown before its symbols are read, and becomes an event only when it is complete")
  func shown() async throws {
    try await withGate { daemon, ring, open in
      let client = try await daemon.client()
      let events = try await daemon.client()
      try await events.send(Self.interface + "Subscribe", more: true)
      _ = try await events.reply()
      let before = try daemon.store.newestCursor()
      let process = try await crash(ring, in: daemon)

      let early = try await listed(client)
      guard early.count == 1, case .object(let summary)? = early.first else { throw StoreError.noSuchReport(id: "") }
      #expect(summary.string("id") == ring.id && summary["isPreliminary"] == .bool(true))
      #expect(summary.string("groupKey") == "")
      for id in [nil, ring.id] {
        let parameters: [String: JSONValue] = id.map { ["id": .string($0)] } ?? [:]
        let report = try await client.call(Self.interface + "Get", parameters).object("report")
        #expect(report.string("reason") == "Fatal error: sold out")
        #expect(report["isPreliminary"] == .bool(true))
        let whole = try await client.call(Self.interface + "Get", parameters.merging(["raw": .bool(true)]) { $1 })
        #expect(whole["raw"] ?? .null == .null)
        guard case .object(let image)? = report.array("images").first else { throw StoreError.noSuchReport(id: "") }
        #expect(image.string("symbols") == "its symbols were not ready in time")
      }
      // The report that is shown before its symbols are read (the preliminary report) belongs to no group, does not
      // count, and causes no event.
      #expect(try await client.call(Self.interface + "Groups").array("groups").isEmpty)
      #expect(try await client.call(Self.interface + "Status").int("reports") == 0)
      #expect(try daemon.store.newestCursor() == before)

      open()
      let event = try await events.reply().object("parameters").object("report")
      #expect(event.string("id") == ring.id && event["isPreliminary"] == nil)
      #expect(try await client.awaitProcess().array("reports") == [.string(ring.id)])
      guard case .object(let late)? = try await listed(client).first else { throw StoreError.noSuchReport(id: "") }
      #expect(late["isPreliminary"] ?? .null == .null && late.string("groupKey") != "")
      #expect(try daemon.store.report(idPrefix: nil).report.images.first?.symbols == nil)
      #expect(try daemon.store.newestCursor().sequence == before.sequence + 1)
      #expect(try daemon.store.groups(limit: 9).map(\.count) == [1])
      #expect(daemon.analysis.preliminary.all.isEmpty)
      process.hangUp()
    }
  }

  @Test(
    "first crash: requests that end during the wait for symbols stay in the report, within a memory limit",
    arguments: [(room: 1 << 20, operations: ["GET /slow", "GET /cart"]), (room: 0, operations: ["GET /slow"])])
  func requests(room: Int, operations: [String]) async throws {
    var limits = Limits.patient
    limits.waitingRequestBytesPerUser = room
    try await withGate(limits) { daemon, ring, open in
      var ring = ring
      ring.addRequest(0, number: 1, operation: "GET /slow")
      ring.addRequest(1, number: 2, operation: "GET /cart")
      let memory = try ring.memory()
      let process = try await daemon.attach()
      #expect(try await process.attach(memory) == .accepted)
      try process.wake()
      _ = try await listed(try await daemon.client())
      ring.addRequest(1, number: 2, operation: "GET /cart", isRunning: false)
      try ring.write(to: memory)
      open()
      _ = try await daemon.client().awaitProcess()
      let report = try daemon.store.report(idPrefix: ring.id).report
      #expect(report.inFlight?.requests.map(\.operation) == operations)
      process.hangUp()
    }
  }

  @Test("first crash: AwaitProcess waits for the complete report")
  func awaited() async throws {
    try await withGate { daemon, ring, open in
      let process = try await crash(ring, in: daemon)
      let client = try await daemon.client()
      _ = try await listed(client)
      let progress = try await client.call(
        Self.interface + "AwaitProcess", ["pid": .int(Int(getpid())), "timeout_ms": .int(0)])
      #expect(progress["settled"] == .bool(false) && progress.array("reports").isEmpty)
      open()
      #expect(try await client.awaitProcess().array("reports") == [.string(ring.id)])
      #expect(try daemon.store.report(idPrefix: ring.id).report.images.first?.symbols == nil)
      process.hangUp()
    }
  }

  @Test("first crash: a user does not see preliminary reports of another user", .enabled(if: geteuid() == 0))
  func others() async throws {
    try await withGate { daemon, ring, open in
      let process = try await crash(ring, in: daemon)
      _ = try await listed(try await daemon.client())
      let other = try await daemon.client(as: TestUser(uid: 54_321, gid: 54_321))
      #expect(try await other.call(Self.interface + "List").array("reports").isEmpty)
      try await other.send(Self.interface + "Get", ["id": .string(ring.id)])
      #expect(try await other.reply().string("error") == Self.interface + "NoSuchReport")
      open()
      _ = try await daemon.client().awaitProcess()
      process.hangUp()
    }
  }

  @Test(
    "first crash: a crash beyond the limit of preliminary reports is stored like any other crash",
    arguments: [(reports: 0, frames: 99), (reports: 9, frames: 0)])
  func noRoom(reports: Int, frames: Int) async throws {
    var limits = Limits.patient
    (limits.preliminaryReports, limits.preliminaryFrames) = (reports, frames)
    try await withGate(limits) { daemon, ring, open in
      let process = try await crash(ring, in: daemon)
      let client = try await daemon.client()
      try await client.until { await daemon.analysis.caches.waiters.count == 1 }
      #expect(try await client.call(Self.interface + "List").array("reports").isEmpty)
      open()
      #expect(try await client.awaitProcess().array("reports") == [.string(ring.id)])
      process.hangUp()
    }
  }

  @Test("first crash: preliminary reports are limited in total and per user")
  func limits() throws {
    var limits = Limits()
    (limits.preliminaryReports, limits.preliminaryReportsPerUser) = (5, 3)
    let reports = PreliminaryReports()
    let report = try #require(RingContents.sample([.sample()]).report())
    let show = { (id: Int, user: UInt32) in
      reports.show(report, of: RingKey(id: "\(id)", user: user), limits)
      return reports.all.count
    }
    #expect((1...4).map { show($0, 1_000) } == [1, 2, 3, 3])
    #expect(show(1, 1_000) == 3)
    // The last free entry is reserved for root, so other users cannot use it.
    #expect((5...8).map { show($0, 1_001) } == [4, 4, 4, 4])
    #expect(show(9, 0) == 5)
    reports.remove(RingKey(id: "1", user: 1_000))
    #expect(!reports.hasRoom(for: 1_000, limits))
    reports.remove(RingKey(id: "2", user: 1_000))
    #expect(reports.hasRoom(for: 1_000, limits))
    #expect(show(10, 1_000) == 4)
  }
}
