import CrashProtocol
import CrashReport
import CrashStore
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Subscribe")
struct SubscribeTests {
  private static let method = "io.crashshield.Crashd.Subscribe"

  @Test("a subscriber gets each event exactly once, even if events are stored while it reads")
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

  @Test("a subscription without a cursor gets new events only")
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

  @Test("a subscriber resumes from its cursor")
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

  @Test("a cursor of another store is an error, and the connection stays open", arguments: ["x", "0123456789abcdef-0"])
  func foreignCursor(cursor: String) async throws {
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      try await client.send(Self.method, ["cursor": .string(cursor)], more: true)
      #expect(try await client.reply().string("error") == "io.crashshield.Crashd.InvalidCursor")
      #expect(try await client.call("io.crashshield.Crashd.Status").int("reports") == 0)
    }
  }

  @Test("a subscriber that does not read is disconnected, and the other subscribers get every event")
  func slowReader() async throws {
    var limits = Limits()
    // The time limit for both subscribers. It is long enough for the one that reads, even on a slow machine.
    limits.write_ms = 20_000
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

  @Test("a named subscriber gets its unacknowledged events after a restart of the client or of crashd")
  func named() async throws {
    let directory = try TestDirectory()
    let name: [String: JSONValue] = ["subscriber": .string("mail-1")]
    let put = { (daemon: TestDaemon, ids: [String]) in
      for id in ids { _ = try daemon.store.put(.sample(id: id), raw: []) }
      daemon.hub.notify()
    }
    // No variable holds this daemon, so it is deallocated after its run, and releases the locks of its directory for
    // the next daemon.
    try await TestDaemon(directory).run { daemon in
      try put(daemon, ["aa"])
      let client = try await daemon.client()
      try await client.send(Self.method, name, more: true)
      _ = try await client.reply()
      // A new named subscriber receives only later events, so it does not receive aa.
      try put(daemon, ["bb", "cc"])
      let event = try await client.event()
      #expect(event.id == "bb")
      let cursor = try #require(event.cursor)
      let other = try await daemon.client()
      let reached = try await other.call(
        "io.crashshield.Crashd.Ack", name.merging(["cursor": .string(cursor)]) { $1 })
      #expect(reached.string("cursor") == cursor)
    }
    try await TestDaemon(directory).run { daemon in
      try put(daemon, ["dd"])
      let client = try await daemon.client()
      let cursor = try await client.call("io.crashshield.Crashd.Cursor", name).string("cursor")
      try await client.send(Self.method, name, more: true)
      #expect(try await client.reply().object("parameters").string("cursor") == cursor)
      #expect(try await client.event().id == "cc")
      #expect(try await client.event().id == "dd")
      let other = try await daemon.client()
      let all = try await other.call("io.crashshield.Crashd.Subscribers").array("subscribers")
      #expect(all.count == 1)
      _ = try await other.call("io.crashshield.Crashd.Unsubscribe", name)
      try await other.send("io.crashshield.Crashd.Cursor", name)
      #expect(try await other.reply().string("error") == "io.crashshield.Crashd.NoSuchSubscriber")
    }
  }

  @Test(
    "Subscribe refuses malformed names and cursors with typed errors",
    arguments: [
      ("", nil, "org.varlink.service.InvalidParameter"), ("a b", nil, "org.varlink.service.InvalidParameter"),
      (String(repeating: "a", count: 65), nil, "org.varlink.service.InvalidParameter"),
      ("unknown", nil, "io.crashshield.Crashd.NoSuchSubscriber"),
      ("unknown", "0123456789abcdef-0", "io.crashshield.Crashd.InvalidCursor"),
    ])
  func wrongNames(name: String, cursor: String?, error: String) async throws {
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      let cursor = cursor ?? "\(daemon.store.epoch)-0"
      try await client.send(
        "io.crashshield.Crashd.Ack", ["subscriber": .string(name), "cursor": .string(cursor)])
      #expect(try await client.reply().string("error") == error)
    }
  }

  @Test("Subscribers lists the lag, and a collector that the settings no longer name is deleted")
  func forgotten() async throws {
    let unsubscribe = "io.crashshield.Crashd.Unsubscribe"
    let named = ForwardSettings(path: "/nowhere/collector")
    try await TestDaemon.run(configure: { $0.settings.forward = [named] }) { daemon in
      _ = try daemon.store.enter(subscriber: "forward /nowhere/old", uid: geteuid(), at: "")
      _ = try daemon.store.enter(subscriber: "mail", uid: 4_711, at: "")
      for id in ["aa", "bb"] { _ = try daemon.store.put(.sample(id: id), raw: []) }
      let client = try await daemon.client()
      let before = try await client.call("io.crashshield.Crashd.Subscribers").array("subscribers")
      let behind = before.compactMap { value -> String? in
        guard case .object(let subscriber) = value else { return nil }
        return "\(subscriber.string("name") ?? "") \(subscriber.int("behind") ?? -1)"
      }
      #expect(behind == ["forward /nowhere/collector 2", "forward /nowhere/old 2", "mail 2"])
      let text = try #require(try await client.call("io.crashshield.Crashd.Metrics").string("text"))
      #expect(text.contains("\ncrashd_subscriber_behind{name=\"mail\",uid=\"4711\"} 2\n"))
      #expect(text.contains("\ncrashd_forward_behind{path=\"/nowhere/collector\"} 2\n"))
      #expect(!text.contains("crashd_subscriber_behind{name=\"forward"))

      try await client.send(unsubscribe, ["subscriber": .string(named.subscriber)])
      #expect(try await client.reply().string("error") == "io.crashshield.Crashd.SubscriberInUse")
      for uid in [JSONValue.string("root"), .int(-1)] {
        try await client.send(unsubscribe, ["subscriber": .string("forward /nowhere/old"), "uid": uid])
        #expect(try await client.reply().string("error") == "org.varlink.service.InvalidParameter")
      }
      _ = try await client.call(unsubscribe, ["subscriber": .string("forward /nowhere/old")])
      _ = try await client.call(unsubscribe, ["subscriber": .string("mail"), "uid": .int(4_711)])
      try await client.send(unsubscribe, ["subscriber": .string("mail"), "uid": .int(4_711)])
      #expect(try await client.reply().string("error") == "io.crashshield.Crashd.NoSuchSubscriber")
      #expect(try daemon.store.subscribers().map(\.name) == [named.subscriber])
    }
  }

  @Test("the number of named subscribers of each user is limited")
  func tooManyNames() async throws {
    try await TestDaemon.run { daemon in
      for index in 0..<ReportStore.subscriberLimit {
        _ = try daemon.store.enter(subscriber: "s\(index)", uid: geteuid(), at: "")
      }
      let client = try await daemon.client()
      try await client.send(Self.method, ["subscriber": .string("one-more")], more: true)
      #expect(try await client.reply().string("error") == "io.crashshield.Crashd.TooManySubscribers")
      // The limit applies to each user separately: another user can still enter a subscriber.
      _ = try daemon.store.enter(subscriber: "s0", uid: geteuid() + 1, at: "")
      #expect(try daemon.store.subscribers(visibility: .user(geteuid() + 1)).map(\.name) == ["s0"])
    }
  }

  @Test("a subscription's filter skips events, and its cursor moves past them")
  func filtered() async throws {
    try await TestDaemon.run { daemon in
      var other = try CrashReport.sample(id: "bb")
      other.process.name = "till"
      let start = try daemon.store.newestCursor()
      _ = try daemon.store.put(.sample(id: "aa"), raw: [])
      _ = try daemon.store.put(other, raw: [])
      _ = try daemon.store.put(.sample(id: "cc"), raw: [])
      let page = try daemon.store.eventPage(after: start, ReportFilter(name: "til"), limit: 9)
      #expect(page.events.map(\.id) == ["bb"])
      #expect(page.end == (try daemon.store.newestCursor()))
      let one = try daemon.store.eventPage(after: start, limit: 1)
      #expect(one.end == one.events.first?.cursor)
      let client = try await daemon.client()
      try await client.send(
        Self.method, ["cursor": .string(start.description), "name": .string("til")], more: true)
      _ = try await client.reply()
      #expect(try await client.event().id == "bb")
    }
  }

  @Test("an unreadable event is counted as lost, and the others are sent")
  func unreadable() async throws {
    try await TestDaemon.run { daemon in
      let start = try daemon.store.newestCursor()
      for id in ["aa", "bb", "cc", "dd"] { _ = try daemon.store.put(.sample(id: id), raw: []) }
      for id in ["aa", "cc"] { try daemon.spoil(id) }
      let page = try daemon.store.eventPage(after: start, limit: 3)
      #expect(page.events.map(\.id) == ["bb"])
      #expect(page.unreadable == 2 && !page.isLast)
      let client = try await daemon.client()
      try await client.send(Self.method, ["cursor": .string(start.description)], more: true)
      _ = try await client.reply()
      for (id, lost) in [("bb", JSONValue.int(2)), ("dd", nil)] {
        let event = try await client.reply().object("parameters")
        #expect(event.object("report").string("id") == id)
        #expect(event["lost"] == lost)
      }
      // Without a later readable event, crashd sends nothing for an unreadable one. It does not block later events.
      _ = try daemon.store.put(.sample(id: "ee"), raw: [])
      try daemon.spoil("ee")
      daemon.hub.notify()
      _ = try daemon.store.put(.sample(id: "ff"), raw: [])
      daemon.hub.notify()
      #expect(try await client.event().id == "ff")
    }
  }

  @Test("Get and Subscribe send stored reports unchanged, including keys of other versions")
  func passedOn() async throws {
    try await TestDaemon.run { daemon in
      let start = try daemon.store.newestCursor()
      _ = try daemon.store.put(.sample(id: "aa"), raw: [])
      try daemon.change(#"UPDATE reports SET json = '{"of":{"later":"a\/b"},"id":"aa"}'"#)
      let expected: [String: JSONValue] = ["id": .string("aa"), "of": .object(["later": .string("a/b")])]
      let client = try await daemon.client()
      #expect(try await client.call("io.crashshield.Crashd.Get").object("report") == expected)
      try await client.send(Self.method, ["cursor": .string(start.description)], more: true)
      _ = try await client.reply()
      #expect(try await client.reply().object("parameters").object("report") == expected)
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
  /// Waits for the next event of a subscription.
  func event() async throws -> (id: String?, cursor: String?) {
    let parameters = try await reply().object("parameters")
    return (parameters.object("report").string("id"), parameters.string("cursor"))
  }
}
