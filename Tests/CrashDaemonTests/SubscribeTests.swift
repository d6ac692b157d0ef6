import CrashReport
import CrashStore
import Glibc
import Testing

@testable import CrashDaemon

@Suite("Subscribe")
struct SubscribeTests {
  private static let method = "io.crashshield.Crashd.Subscribe"

  @Test("no event is missed and none comes twice, however many are stored meanwhile")
  func noGap() async throws {
    try await TestDaemon.run { daemon in
      let ids = (0..<200).map { "aa\($0 + 1_000)" }
      for id in ids.prefix(50) { _ = try daemon.store.put(.sample(id: id), raw: []) }
      let start = "\(daemon.store.epoch)-0"
      async let writing: Void = onThread {
        for id in ids.dropFirst(50) {
          _ = try daemon.store.put(.sample(id: id), raw: [])
          daemon.hub.notify()
        }
      }
      let client = try await daemon.client()
      try await client.send(Self.method, ["cursor": .string(start)], more: true)
      let ready = try await client.reply()
      #expect(ready["continues"] == .bool(true))
      #expect(ready.object("parameters")["ready"] == .bool(true))
      var seen: [String?] = []
      while seen.count < ids.count { seen.append(try await client.event().id) }
      #expect(seen == ids)
      try await writing
    }
  }

  @Test("without a cursor only new events come")
  func onlyNew() async throws {
    try await TestDaemon.run { daemon in
      _ = try daemon.store.put(.sample(id: "aa"), raw: [])
      let client = try await daemon.client()
      try await client.send(Self.method, more: true)
      _ = try await client.reply()
      _ = try daemon.store.put(.sample(id: "bb"), raw: [])
      daemon.hub.notify()
      #expect(try await client.event().id == "bb")
    }
  }

  @Test("a subscriber that comes back with its cursor goes on where it was")
  func resume() async throws {
    try await TestDaemon.run { daemon in
      for id in ["aa", "bb", "cc"] { _ = try daemon.store.put(.sample(id: id), raw: []) }
      let first = try await daemon.client()
      try await first.send(Self.method, ["cursor": .string("\(daemon.store.epoch)-0")], more: true)
      _ = try await first.reply()
      let cursor = try #require(try await first.event().cursor)
      let second = try await daemon.client()
      try await second.send(Self.method, ["cursor": .string(cursor)], more: true)
      _ = try await second.reply()
      #expect(try await second.event().id == "bb")
    }
  }

  @Test("a foreign cursor is an error, and the connection goes on", arguments: ["x", "0123456789abcdef-0"])
  func foreignCursor(cursor: String) async throws {
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      try await client.send(Self.method, ["cursor": .string(cursor)], more: true)
      #expect(try await client.reply().string("error") == "io.crashshield.Crashd.InvalidCursor")
      #expect(try await client.call("io.crashshield.Crashd.Status").int("reports") == 0)
    }
  }

  @Test("a subscriber that does not read is cut off, and the others get everything")
  func slowReader() async throws {
    var limits = Limits()
    // Long enough for the reader that does read, on the slowest of machines: the limit is the same for both.
    limits.write_ms = 6_000
    try await TestDaemon.run(limits: limits) { daemon in
      let start = JSONValue.string("\(daemon.store.epoch)-0")
      let slow = try await daemon.client()
      try await slow.send(Self.method, ["cursor": start], more: true)
      _ = try await slow.reply()
      let ids = (0..<12).map { "aa\($0 + 10)" }
      for id in ids {
        _ = try daemon.store.put(.sample(id: id, bytes: 200_000), raw: [])
        daemon.hub.notify()
      }
      let other = try await daemon.client()
      try await slow.hangUp()
      #expect(try await daemon.refusals()["slow reader"] == .int(1))
      try await other.send(Self.method, ["cursor": start], more: true)
      _ = try await other.reply()
      for id in ids { #expect(try await other.event().id == id) }
    }
  }

  @Test("a second call on a subscribed connection ends it")
  func callMeanwhile() async throws {
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      try await client.send(Self.method, more: true)
      _ = try await client.reply()
      try await client.send("org.varlink.service.GetInfo")
      #expect(try await client.reply().isEmpty)
      #expect(try await daemon.refusals()["call"] == .int(1))
    }
  }
}

extension TestClient {
  /// The next event of a subscription.
  fileprivate func event() async throws -> (id: String?, cursor: String?) {
    let parameters = try await reply().object("parameters")
    return (parameters.object("report").string("id"), parameters.string("cursor"))
  }
}
