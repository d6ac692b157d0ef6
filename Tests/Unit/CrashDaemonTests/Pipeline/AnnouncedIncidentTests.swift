import CrashProtocol
import CrashRing
import CrashStore
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Incidents that a process announces")
struct AnnouncedIncidentTests {
  private static let incidents = "io.crashshield.Crashd.Incidents"

  private static func ring(_ incidents: Int = 0, isAnnouncing: Bool = true) -> TestRing {
    var ring = TestRing()
    if isAnnouncing { ring.setAnnounces() }
    for index in 0..<incidents { add(index, to: &ring) }
    return ring
  }

  private static func add(_ index: Int, to ring: inout TestRing) {
    ring.addIncident(
      index, key: UInt64(index) * 2 + 1, subject: "App/Cart.swift: \(index) is outside", count: 1, mode: 0, source: 2)
  }

  /// Attaches a process, and waits until crashd has read its ring once.
  private static func attached(
    _ ring: TestRing, _ memory: Descriptor, _ daemon: TestDaemon, _ client: TestClient
  ) async throws -> TestProcess {
    let process = try await daemon.attach()
    #expect(try await process.attach(memory) == .accepted)
    _ = try await client.awaitProcess()
    return process
  }

  /// Returns the ids of the incidents on the next page that is not empty.
  private static func page(_ client: TestClient) async throws -> [String] {
    while true {
      let found = try await client.reply().object("parameters").array("incidents")
      if !found.isEmpty { return found.compactMap { $0["id"]?.string } }
    }
  }

  @Test("a subscriber gets an announced incident without a query")
  func subscriber() async throws {
    try await TestDaemon.run { daemon in
      var ring = Self.ring()
      let memory = try ring.memory()
      let process = try await Self.attached(ring, memory, daemon, try await daemon.client())
      let follower = try await daemon.client()
      try await follower.send(Self.incidents, more: true)
      #expect(try await follower.reply().object("parameters").array("incidents").isEmpty)
      for index in 0..<3 {
        Self.add(index, to: &ring)
        try ring.write(to: memory)
        try process.announceIncidents()
        let ids = try await Self.page(follower)
        #expect(ids.count == 1 && ids[0].hasSuffix("\(index * 2 + 1)"))
      }
      process.hangUp()
    }
  }

  @Test("a query of incidents does not store the incidents that it reads from rings")
  func question() async throws {
    try await TestDaemon.run { daemon in
      var ring = Self.ring(1)
      let memory = try ring.memory()
      let client = try await daemon.client()
      let process = try await Self.attached(ring, memory, daemon, client)
      let before = try daemon.store.incidentCursor(isNewest: true)
      #expect(try daemon.store.incidents(limit: 9).count == 1)
      Self.add(1, to: &ring)
      try ring.write(to: memory)
      for method in ["Incidents", "Incidents", "TopIncidents", "DanglingGroups", "DanglingClasses", "Status"] {
        #expect(try await !client.call("io.crashshield.Crashd.\(method)").isEmpty)
      }
      #expect(try await client.call(Self.incidents).array("incidents").count == 1)
      #expect(try daemon.store.incidentCursor(isNewest: true) == before)
      // crashd stores the incident when the process ends, at the latest.
      process.hangUp()
      try await client.until { try daemon.store.incidents(limit: 9).count == 2 }
    }
  }

  @Test("crashd obeys every wake-up for an incident, and still obeys the wake-up for a later crash")
  func notEmpty() async throws {
    var limits = Limits.patient
    limits.emptyWakes = 2
    limits.incidentPause_ms = 0
    try await TestDaemon.run(limits: limits) { daemon in
      var ring = Self.ring()
      let memory = try ring.memory()
      let client = try await daemon.client()
      let process = try await Self.attached(ring, memory, daemon, client)
      for index in 0..<8 {
        Self.add(index, to: &ring)
        try ring.write(to: memory)
        try process.announceIncidents()
        try await client.until { try daemon.store.incidents(limit: 99).count == index + 1 }
      }
      ring.addCrash()
      try ring.write(to: memory)
      try process.wake()
      #expect(try await client.awaitProcess().array("reports") == [.string(ring.id)])
      #expect(try await daemon.refusals()["wake-up"] == nil)
      process.hangUp()
    }
  }

  @Test("a ring is read at most four times a second, even if its process announces more incidents")
  func pause() {
    let (rings, ring, other) = (RingTable(), RingKey(id: "a", user: 7), RingKey(id: "b", user: 7))
    let pause_ms = Limits().incidentPause_ms
    rings.add(ring)
    #expect(pause_ms == 250 && rings.incidentPause_ns(of: ring, pause_ms, at: 5) == 0)
    rings.noteReading(of: ring, at: 1_000_000_000)
    #expect(rings.incidentPause_ns(of: ring, pause_ms, at: 1_100_000_000) == 150_000_000)
    #expect(rings.incidentPause_ns(of: ring, pause_ms, at: 1_250_000_000) == 0)
    #expect(rings.incidentPause_ns(of: other, pause_ms, at: 1_100_000_000) == 0)
    // `remove` must drop all state of a ring: at the end of the test, no state is left.
    rings.remove(ring)
    rings.noteReading(of: ring, at: 1_000_000_000)
    #expect(rings.incidentPause_ns(of: ring, pause_ms, at: 1_000_000_000) == 0)
  }

  @Test("if a process cannot announce incidents, crashd reads them periodically; otherwise only the counters")
  func unannounced() async throws {
    for isAnnouncing in [false, true] {
      let daemon = try TestDaemon(TestDirectory())
      let (events, continuation) = AsyncStream.makeStream(of: PipelineEvent.self)
      let pipeline = CrashPipeline(
        analysis: daemon.analysis, spool: try SpoolDirectory(path: daemon.directories.spool), events: events)
      let running = Task { try await pipeline.run() }
      var ring = Self.ring(1, isAnnouncing: isAnnouncing)
      ring.addImage(0)
      ring.addClass(0, "App.Session", admitted: 10)
      let source = try RingSource(memory: ring.memory())
      let facts = ProcessFacts(source.mapping.contents(), peer: Peer(pid: 4711, uid: geteuid()), unit: nil)
      continuation.yield(.attached(AttachedProcess(number: 4, facts: facts, ring: source), []))
      await withCheckedContinuation { continuation.yield(.settled($0)) }
      await pipeline.register.settle()
      let policy = try #require(daemon.analysis.policy)
      #expect(await policy.summaries(await policy.find(nil, .all)).isEmpty)
      await pipeline.readUnannounced()
      #expect(try daemon.store.incidents(limit: 9).count == (isAnnouncing ? 0 : 1))
      #expect(await policy.summaries(await policy.find(nil, .all)).count == 1)
      continuation.finish()
      running.cancel()
      _ = await running.result
    }
  }

  /// Runs a pipeline with an attached process whose ring has an announced incident.
  private static func withPipeline(
    of uid: UInt32, _ body: (TestDaemon, CrashPipeline, AttachedProcess, (PipelineEvent) -> Void) async throws -> Void
  ) async throws -> TestDaemon {
    let daemon = try TestDaemon(TestDirectory())
    let (events, continuation) = AsyncStream.makeStream(of: PipelineEvent.self)
    let pipeline = CrashPipeline(
      analysis: daemon.analysis, spool: try SpoolDirectory(path: daemon.directories.spool), events: events)
    let running = Task { try await pipeline.run() }
    let source = try RingSource(memory: ring(1).memory())
    let facts = ProcessFacts(source.mapping.contents(), peer: Peer(pid: 4711, uid: uid), unit: nil)
    let process = AttachedProcess(number: 4, facts: facts, ring: source)
    continuation.yield(.attached(process, []))
    await withCheckedContinuation { continuation.yield(.settled($0)) }
    try await body(daemon, pipeline, process) { continuation.yield($0) }
    continuation.finish()
    running.cancel()
    _ = await running.result
    return daemon
  }

  @Test("incidents that the store did not accept are read again, also those of an announcing process")
  func unstored() async throws {
    _ = try await Self.withPipeline(of: geteuid()) { daemon, pipeline, process, _ in
      try daemon.change(
        "CREATE TRIGGER full BEFORE INSERT ON incidents BEGIN SELECT RAISE(ABORT, 'no space'); END")
      await pipeline.observe(process)
      #expect(pipeline.rings.isUnread(RingKey(process.facts)))
      try daemon.change("DROP TRIGGER full")
      await pipeline.readUnannounced()
      #expect(try daemon.store.incidents(limit: 9).count == 1)
      #expect(!pipeline.rings.isUnread(RingKey(process.facts)))
    }
  }

  @Test("readings of incidents are charged to a separate account and do not lower the priority of crashes")
  func account() async throws {
    let uid: UInt32 = 4_711
    let daemon = try await Self.withPipeline(of: uid) { daemon, _, process, send in
      var news = daemon.hub.news(of: .incidents).makeAsyncIterator()
      send(.recordedIncidents(process))
      _ = await news.next()
    }
    // A charge decreases with time. At the time 0 (the boot), nothing has decreased, so `wait_ns` is 0 only if nothing
    // was charged.
    #expect(daemon.analysis.incidentTime.wait_ns(for: uid, at: 0) > 0)
    #expect(daemon.analysis.lookTime.wait_ns(for: uid, at: 0) == 0)
  }

  @Test("at most one reading of each ring and a few of each user wait; further rings are read periodically")
  func waiting() {
    let (rings, keys) = (RingTable(), ["a", "b", "c"].map { RingKey(id: $0, user: 7) })
    for key in keys { rings.add(key) }
    #expect(rings.beginWaiting(keys[0], of: 7, limit: 2) && !rings.beginWaiting(keys[0], of: 7, limit: 2))
    #expect(rings.beginWaiting(keys[1], of: 7, limit: 2) && !rings.beginWaiting(keys[2], of: 7, limit: 2))
    #expect(keys.map { rings.isUnread($0) } == [false, false, true])
    #expect(rings.beginWaiting(RingKey(id: "d", user: 8), of: 8, limit: 2))
    rings.endWaiting(keys[0], of: 7)
    #expect(rings.beginWaiting(keys[2], of: 7, limit: 2))
    rings.noteReading(of: keys[2])
    #expect(!rings.isUnread(keys[2]))
  }
}
