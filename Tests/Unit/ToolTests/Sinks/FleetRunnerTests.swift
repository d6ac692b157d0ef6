import CrashClient
import CrashProtocol
import CrashReport
import Foundation
import Synchronization
import TestKit
import Testing

@testable import crash_forward

@Suite("FleetRunner")
struct FleetRunnerTests {
  /// One run with a simulated crashd and a simulated fleet.
  struct Run {
    var requests: [StubServer.Request]
    var acknowledged: [String]
    var counts: SinkCounts
    var log: [String]

    /// The items of all batches: the ids of reports, and the counts.
    var bodies: [[JSONValue]] {
      requests.filter { $0.line.contains("/v1/reports") }.map { request in
        request.body.split(separator: UInt8(ascii: "\n")).compactMap { JSONValue(parsing: Array($0)) }
      }
    }
    var whole: [String] { bodies.joined().compactMap { $0["report"]?["id"]?.string } }
    var counted: [Int] { bodies.joined().compactMap { $0["count"]?["crashes"]?.int } }
    var positions: [String] { bodies.joined().compactMap { $0["position"]?["cursor"]?.string } }
  }

  private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
  }

  private static let committed = StubServer.Answer(body: #"{"committed":true,"items":{"stored":1},"refused":[]}"#)

  /// Runs until crashd has received the last cursor.
  ///
  /// Events have the cursors `e.1`, `e.2`, …, and the ids `a1`, `a2`, …. Between two readings of the clock, `step`
  /// passes. An empty reply of `control` closes the connection.
  func run(
    _ count: Int, position: String? = nil, answered: String? = nil, step: Duration = .seconds(20), more: String = "",
    failsAcknowledgements: Int = 0, allowsProtection: Bool = false, filter: String? = nil,
    answer: @escaping @Sendable (StubServer.Request, Int) -> StubServer.Answer? = { _, _ in committed },
    event: @escaping @Sendable (Int) -> (id: String, more: String) = { ("a\($0)", "") },
    control: @escaping @Sendable (String) -> (parameters: String, error: String?)? = { _ in nil }
  ) throws -> Run {
    let (stop, acknowledged, log, board) = (try StopSignal(), Lines(), Lines(), SinkBoard())
    let failures = Mutex(failsAcknowledgements)
    let server = try StubServer { request, earlier in
      request.line.contains("/v1/position")
        ? StubServer.Answer(
          body: "{\"cursor\":\(position.map { "\"\($0)\"" } ?? "null")\(answered.map { ",\"answered\":\($0)" } ?? "")}")
        : answer(request, earlier)
    }
    defer { server.stop() }
    let daemon = try FakeDaemon { connection in
      guard let call = connection.call() else { return }
      if let reply = control(call) {
        if !reply.parameters.isEmpty { connection.reply(reply.parameters, error: reply.error) }
        return
      }
      if call.contains("Crashd.Ack") {
        let isLost = failures.withLock { left in
          left -= 1
          return left >= 0
        }
        if isLost { return }
        let cursor = (1...count).map { "e.\($0)" }.last { call.contains("\"\($0)\"") } ?? ""
        acknowledged.add(cursor)
        connection.reply(#"{"cursor":"\#(cursor)"}"#)
        if cursor == "e.\(count)" { stop.stop() }
        return
      }
      let seen = acknowledged.all.compactMap { Int($0.dropFirst(2)) }.max() ?? 0
      connection.reply(#"{"ready":true}"#, continues: true)
      for number in seen..<count {
        let (id, own) = event(number + 1)
        connection.reply(
          #"{"cursor":"e.\#(number + 1)","report":\#(SampleJSON.report(id: id, more: own + more))}"#,
          continues: true)
      }
      connection.waitForHangup()
    }
    defer { daemon.stop() }
    var around = SinkRunner.Surroundings(
      client: CrashClient(socketPath: daemon.socketPath), stop: stop, board: board,
      log: SinkLog { level, text in log.add("\(level): \(text)") })
    let start = ContinuousClock.now
    let looks = Mutex(0)
    around.now = {
      looks.withLock { count in
        count += 1
        return start + step * count
      }
    }
    around.wait = { _ in stop.wait(for: .zero) }
    let client = try #require(
      FleetClient(url: "http://127.0.0.1:\(server.port)", token: "cft_1_x", http: HTTPClient(stop: stop)))
    var runner = FleetRunner(
      client, subscriber: "t.fleet", filter: filter, perMinute: 6_000, allowsProtection: allowsProtection,
      scrubber: nil, around: around)
    runner.run()
    return Run(
      requests: server.requests, acknowledged: acknowledged.all, counts: board.counts(of: "fleet"), log: log.all)
  }

  @Test("the first three reports of a group are sent whole, and the others as a counter that only grows")
  func policy() throws {
    let run = try run(7)
    #expect(run.whole == ["a1", "a2", "a3"])
    #expect(run.counted.last == 4 && run.counted == run.counted.sorted())
    #expect(run.positions.last == "e.7" && run.acknowledged.last == "e.7")
    #expect(run.counts.delivered == 7)
    let count = try #require(run.bodies.joined().last { $0["count"] != nil })
    #expect(count["count"]?["group"]?["key"]?.string == "k" && count["count"]?["program"]?.string == "shop")
    #expect(count["count"]?["hour"]?.int == 498_680 && (count["count"]?["run"]?.int ?? 0) > 0)
    #expect(run.requests.allSatisfy { $0.headers["authorization"] == "Bearer cft_1_x" })
  }

  @Test("counters that the runner has forgotten add up in the fleet, also after a crash far in the future")
  func forgotten() throws {
    // The fifth and sixth crash are days ahead, and the runner forgets the counters of the earlier hour.
    let run = try run(
      9,
      event: { number in
        ("a\(number)", [5, 6].contains(number) ? #""time":"2026-12-01T08:10:11.000123Z","# : "")
      })
    #expect(run.whole == ["a1", "a2", "a3", "a5", "a7"])
    // As the fleet does, keeps the highest value of each run and hour.
    var highest: [[Int?]: Int] = [:]
    for count in run.bodies.joined().compactMap({ $0["count"] }) {
      let key = [count["hour"]?.int, count["run"]?.int]
      highest[key] = max(highest[key] ?? 0, count["crashes"]?.int ?? 0)
    }
    #expect(highest.values.reduce(0, +) == 4)
  }

  @Test("a crash analyzed again is counted once: a whole report moves to its new group, a counted crash stays")
  func reanalyzed() throws {
    // The first crash is sent as a whole report, and the fourth is counted. Both come again in another group.
    let again = [5: "a1", 6: "a4", 7: "a4"]
    let run = try run(
      7,
      event: { number in
        let moved = #""group":{"key":"other","title":"t"},"#
        return again[number].map { ($0, moved) } ?? ("a\(number)", "")
      })
    #expect(run.whole == ["a1", "a2", "a3", "a1"])
    let last = try #require(run.bodies.joined().last { $0["report"]?["id"]?.string == "a1" })
    #expect(last["report"]?["group"]?["key"]?.string == "other")
    let counts = run.bodies.joined().compactMap { $0["count"] }
    #expect(counts.allSatisfy { $0["group"]?["key"]?.string == "k" && $0["crashes"]?.int == 1 } && !counts.isEmpty)
    #expect(run.counts.repeated == 2)
  }

  @Test("crashd receives an acknowledgement only after the fleet has committed the batch")
  func acknowledgement() throws {
    let order = Lines()
    let run = try run(1) { request, _ in
      order.add("sent")
      return order.all.count < 4
        ? StubServer.Answer(status: 503, body: #"{"code":"database","message":"m"}"#) : Self.committed
    }
    #expect(run.acknowledged == ["e.1"])
    #expect(order.all.count == 4 && run.whole == ["a1", "a1", "a1", "a1"])
    #expect(run.counts.retries == 3 && run.counts.delivered == 1)
    // The runner logs the reason only once for the three retries.
    #expect(run.log.filter { $0.contains("answers 503 (database: m)") }.count == 1)
    #expect(run.log.last == "notice: fleet: recovered")
  }

  @Test("a new run continues where the fleet is, although crashd missed the acknowledgement")
  func resumed() throws {
    let run = try run(5, position: "e.3")
    #expect(run.acknowledged.first == "e.3")
    #expect(run.whole == ["a4", "a5"])
    #expect(run.requests.count { $0.line.contains("/v1/position") } == 1)
    #expect(run.requests[0].line.contains("stream=t.fleet%40e "))
  }

  @Test("a lost acknowledgement is repeated before the next events, which are then counted once")
  func lostAcknowledgement() throws {
    let run = try run(6, failsAcknowledgements: 1)
    #expect(run.whole == ["a1", "a2", "a3"])
    #expect(run.counted.last == 3)
  }

  @Test("of a body that the fleet refuses, only the report that it refuses alone is lost", arguments: ["a1", "a3"])
  func refusedBody(bad: String) throws {
    let run = try run(3, step: .milliseconds(1)) { request, _ in
      String(decoding: request.body, as: UTF8.self).contains("\"id\":\"\(bad)\"")
        ? StubServer.Answer(status: 413, body: #"{"code":"body-too-large","message":"m"}"#) : Self.committed
    }
    #expect(run.counts.refused == 1 && run.counts.delivered == 2 && run.acknowledged.last == "e.3")
    #expect(run.log.contains { $0.hasPrefix("error: fleet: dropped report \(bad): ") && $0.contains("body-too-large") })
    for id in ["a1", "a2", "a3"] where id != bad {
      #expect(run.bodies.contains { $0.contains { $0["report"]?["id"]?.string == id } })
    }
  }

  @Test("an item that the fleet refuses is counted and logged, and the others are delivered")
  func refusedItem() throws {
    let run = try run(1) { _, _ in
      let reply =
        #"{"committed":true,"items":{"refused":1},"refused":[{"item":0,"code":"missing-field","message":"m"}]}"#
      return StubServer.Answer(body: reply)
    }
    #expect(run.counts.refused == 1 && run.counts.delivered == 0)
    #expect(run.log.contains("error: fleet: dropped report a1: missing-field: m"))
  }

  @Test("items that are older than the fleet's retention are counted and logged", arguments: [1, Int.max])
  func expired(count: Int) throws {
    let run = try run(1) { _, _ in
      StubServer.Answer(body: #"{"committed":true,"items":{"expired":\#(count)},"refused":[]}"#)
    }
    #expect(run.counts.expired == count && run.counts.refused == 0)
    #expect(run.counts.delivered == 0)
    #expect(run.counts.text("fleet").contains("\(count) expired"))
    #expect(run.log.contains { $0.hasPrefix("warning: fleet: dropped \(count) reports and counters that are older") })
  }

  @Test("a machine without a machine id has an id from its host name")
  func hosts() throws {
    let named = try run(1, more: #""machine":{"host":"web-3"},"#)
    let host = try #require(named.bodies.first?.first?["host"])
    #expect(host["name"]?.string == "web-3" && host["machine"]?.string?.count == 32)
    let known = try run(1, more: #""machine":{"host":"web-3","id":"0123456789abcdef0123456789abcdef"},"#)
    #expect(known.bodies.first?.first?["host"]?["machine"]?.string == "0123456789abcdef0123456789abcdef")
  }

  @Test("one report an hour is whole after the first three, and a new build starts again")
  func hours() throws {
    var policy = FleetPolicy(perMinute: 6_000)
    func sends(_ hour: Int, build: String = "ab") throws -> Bool {
      let process =
        #""process":{"pid":1,"uid":1,"name":"shop","executable":"/s","buildID":"\#(build)","startTime":"x"},"#
      let time = #""time":"2026-11-21T0\#(hour):10:11Z","#
      return policy.sendsWhole(try Sample.received(id: "a", more: time + process).report, at: .now)
    }
    #expect(try (0..<5).map { _ in try sends(1) } == [true, true, true, false, false])
    #expect(try [sends(2), sends(2), sends(3)] == [true, false, true])
    #expect(try sends(3, build: "cd"))
  }

  @Test("counters wait for a second after a quiet time, and up to a minute while crashes go on")
  func pace() {
    var (pace, now) = (CounterPace(), ContinuousClock.now)
    var delays: [Duration] = []
    for _ in 0..<9 {
      let since = now
      delays.append(pace.delay(since: since))
      now += pace.delay(since: since)
      pace.sent(since: since, at: now)
    }
    #expect(delays == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    #expect(pace.delay(since: now + .seconds(120)) == .seconds(60))
    #expect(pace.delay(since: now + .seconds(121)) == .seconds(1))
  }

  @Test("crashes above the rate limit of whole reports are counted")
  func rate() throws {
    var policy = FleetPolicy(perMinute: 6)
    let now = ContinuousClock.now
    let sent = try (0..<50).filter { number in
      policy.sendsWhole(
        try Sample.received(id: "a", more: #""group":{"key":"k\#(number)","title":"t"},"#).report, at: now)
    }
    #expect((1...2).contains(sent.count))
  }

  @Test("the fleet needs a URL without a path, and a token or a client certificate")
  func settings() throws {
    let accepted = ["https://f.example.org:8320", "http://127.0.0.1:8320/"].map(FleetClient.takes(url:))
    let refused = ["https://k@f.example.org", "https://f.example.org/x", "f.example.org"].map(FleetClient.takes(url:))
    #expect(accepted == [true, true] && refused == [false, false, false])
    var settings = ForwardSettings()
    settings.fleetURL = "https://f.example.org"
    let stop = try StopSignal()
    func forwarder() throws -> CrashForwarder {
      try CrashForwarder(
        settings, client: CrashClient(socketPath: "/x"), stop: stop, board: SinkBoard(), log: SinkLog { _, _ in })
    }
    let error = #expect(throws: (any Error).self) { try forwarder() }
    #expect("\(error.map { "\($0)" } ?? "")".contains("needs a token or a client certificate"))
    (settings.fleetCertificate, settings.fleetKey) = ("/x.pem", "/x.key")
    #expect(try !forwarder().isIdle)
  }
}
