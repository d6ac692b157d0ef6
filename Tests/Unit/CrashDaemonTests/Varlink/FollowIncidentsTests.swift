import CrashProtocol
import CrashReport
import CrashRing
import CrashStore
import TestKit
import Testing

@testable import CrashDaemon

@Suite("The method Incidents with the flag more")
struct FollowIncidentsTests {
  private static let method = "io.crashshield.Crashd.Incidents"

  private static func incident(_ id: String, name: String = "shop", uid: UInt32 = 0) -> IncidentReport {
    let time = "2026-01-01T00:00:00.000000Z"
    return IncidentReport(
      id: id, first: time, last: time, count: 1,
      process: .init(pid: 1, uid: Int(uid), name: name, executable: "/srv/shop", buildID: "ab"), source: "guard",
      kind: "index", mode: "absorb", subject: "7 is outside", sentence: "7 is outside.", confidence: "certain")
  }

  private static func store(_ incidents: [IncidentReport], in daemon: TestDaemon) throws {
    try daemon.store.put(incidents: incidents)
    daemon.hub.notifyOfIncidents(of: try process(of: 0))
  }

  private static func process(of uid: UInt32, isRestricted: Bool = false) throws -> ProcessFacts {
    let source = try RingSource(memory: TestRing().memory())
    var facts = ProcessFacts(source.mapping.contents(), peer: Peer(pid: 4711, uid: uid), unit: nil)
    facts.isRestricted = isRestricted
    return facts
  }

  /// Returns whether the stream, which wakes a client that follows incidents, contains an unread wake-up.
  ///
  /// In a canceled task, a stream returns its buffered elements and then ends.
  private static func isWoken(_ stream: AsyncStream<Void>) async -> Bool {
    let task = Task {
      var news = stream.makeAsyncIterator()
      return await news.next() != nil
    }
    task.cancel()
    return await task.value
  }

  /// Returns a client that follows the incidents, and the cursor of its first reply.
  private static func follow(
    _ daemon: TestDaemon, _ parameters: [String: JSONValue] = [:]
  ) async throws -> (TestClient, cursor: JSONValue) {
    let client = try await daemon.client()
    try await client.send(method, parameters, more: true)
    let first = try await client.reply()
    #expect(first["continues"] == .bool(true) && first.object("parameters").array("incidents").isEmpty)
    return (client, try #require(first.object("parameters")["cursor"]))
  }

  private static func ids(_ client: TestClient) async throws -> [String?] {
    try await client.reply().object("parameters").array("incidents").map { $0["id"]?.string }
  }

  @Test("a stream sends new incidents, and earlier incidents only if the call has since or a cursor")
  func begin() async throws {
    try await TestDaemon.run { daemon in
      try daemon.store.put(incidents: [Self.incident("a")])
      let (new, cursor) = try await Self.follow(daemon)
      let (since, _) = try await Self.follow(daemon, ["since": .string("2025-01-01T00:00:00Z")])
      #expect(try await Self.ids(since) == ["a"])
      try Self.store([Self.incident("b")], in: daemon)
      #expect(try await Self.ids(new) == ["b"])
      #expect(try await Self.ids(since) == ["b"])
      let (later, _) = try await Self.follow(daemon, ["cursor": cursor])
      #expect(try await Self.ids(later) == ["b"])
    }
  }

  @Test("a stream of incidents sends several pages, and only those that match the filter")
  func pages() async throws {
    try await TestDaemon.run { daemon in
      let (client, _) = try await Self.follow(daemon, ["name": .string("till")])
      let all = (10..<50).map { Self.incident("i\($0)", name: $0 % 2 == 0 ? "till" : "shop") }
      try Self.store(all, in: daemon)
      var found: [String?] = []
      while found.count < 20 {
        let page = try await Self.ids(client)
        #expect((1...daemon.analysis.limits.eventBatch).contains(page.count))
        found += page
      }
      #expect(found == all.filter { $0.process.name == "till" }.map(\.id))
    }
  }

  @Test("incidents that were evicted before they were read are counted as lost, even if no incident is left")
  func lost() async throws {
    try await TestDaemon.run { daemon in
      let (_, cursor) = try await Self.follow(daemon)
      try daemon.store.put(incidents: ["a", "b", "c"].map { Self.incident($0) })
      try daemon.change("DELETE FROM incidents WHERE id <> 'c'")
      let (late, _) = try await Self.follow(daemon, ["cursor": cursor])
      let page = try await late.reply().object("parameters")
      #expect(page.array("incidents").map { $0["id"]?.string } == ["c"] && page["lost"] == .int(2))
      let (since, _) = try await Self.follow(daemon, ["since": .string("2025-01-01T00:00:00Z")])
      let first = try await since.reply().object("parameters")
      #expect(first.array("incidents").map { $0["id"]?.string } == ["c"] && first["lost"] == nil)
      try daemon.store.put(incidents: [Self.incident("d")])
      try daemon.change("DELETE FROM incidents")
      daemon.hub.notifyOfIncidents(of: try Self.process(of: 0))
      for client in [late, since] {
        let page = try await client.reply().object("parameters")
        #expect(page.array("incidents").isEmpty && page["lost"] == .int(1))
      }
    }
  }

  @Test("an incident wakes only streams of users that may see the incident")
  func wakes() async throws {
    let hub = EventHub()
    let all = [Visibility.all, .user(7), .user(8)]
    for (uid, isRestricted, woken) in [
      (7, false, [true, true, false]), (8, false, [true, false, true]), (7, true, [true, false, false]),
      (0, false, [true, false, false]),
    ] as [(UInt32, Bool, [Bool])] {
      let streams = all.map { hub.news(of: .incidents, for: $0) }
      hub.notifyOfIncidents(of: try Self.process(of: uid, isRestricted: isRestricted))
      var found: [Bool] = []
      for stream in streams { found.append(await Self.isWoken(stream)) }
      #expect(found == woken, "\(uid) \(isRestricted)")
    }
  }

  @Test("Incidents refuses a wrong cursor, and a cursor without the flag more")
  func refused() async throws {
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      for (cursor, error) in [("x", "InvalidCursor"), ("0123456789abcdef-0", "InvalidCursor")] {
        try await client.send(Self.method, ["cursor": .string(cursor)], more: true)
        #expect(try await client.reply().string("error") == "io.crashshield.Crashd.\(error)")
      }
      // Incidents refuses a cursor of events, and Subscribe refuses a cursor of incidents.
      let event = try daemon.store.newestCursor().description
      try await client.send(Self.method, ["cursor": .string(event)], more: true)
      #expect(try await client.reply().string("error") == "io.crashshield.Crashd.InvalidCursor")
      let incident = try daemon.store.incidentCursor(isNewest: true).description
      try await client.send("io.crashshield.Crashd.Subscribe", ["cursor": .string(incident)], more: true)
      #expect(try await client.reply().string("error") == "io.crashshield.Crashd.InvalidCursor")
      try await client.send(Self.method, ["cursor": .string("\(daemon.store.epoch)-0")])
      #expect(try await client.reply().string("error") == "org.varlink.service.ExpectedMore")
    }
  }
}
