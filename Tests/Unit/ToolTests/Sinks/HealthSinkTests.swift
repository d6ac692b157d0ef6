import CrashClient
import CrashProtocol
import Glibc
import TestKit
import Testing

@testable import crash_forward

@Suite("Health of builds for Sentry and OpenTelemetry")
struct HealthSinkTests {
  private static let first = "2026-11-21T08:00:00.000000Z"
  private static let time_ns: UInt64 = 1_795_248_611_000_000_000

  private func build(
    _ id: String = "ab12", finished: Int, failed: Int = 0, lost: Int = 0, firstSeen: String = first,
    release: String? = "shop@2/4"
  ) -> BuildHealth {
    var build = BuildHealth(
      uid: 1_000, program: "shop", build: id, release: release, environment: "staging", firstSeen: firstSeen,
      lastSeen: firstSeen)
    build.requests = .init(begun: finished + failed + lost + 5, finished: finished, failed: failed, lost: lost)
    (build.crashes, build.processSeconds) = (2, 7_200.5)
    return build
  }

  private func sessions(_ server: StubServer, _ directory: TestDirectory) throws -> SentrySessions {
    let dsn = try #require(SentryDSN("http://public-key@127.0.0.1:\(server.port)/42"))
    return SentrySessions(dsn, http: HTTPClient(), book: SessionBook(directory: directory.path))
  }

  /// The items of the envelopes that a server has received, with their headers.
  private func items(_ server: StubServer) throws -> [JSONValue] {
    try server.requests.flatMap { request in
      let lines = request.body.split(separator: UInt8(ascii: "\n")).map(Array.init)
      return try stride(from: 1, to: lines.count, by: 2).map { index in
        #expect(JSONValue.decoded(lines[index])?["type"] == .string("sessions"))
        #expect(JSONValue.decoded(lines[index])?["length"] == .int(lines[index + 1].count))
        return try #require(JSONValue.decoded(lines[index + 1]))
      }
    }
  }

  @Test(
    "requests since the last delivery are one aggregate, also across a restart; those before the first are not sent")
  func sessions() throws {
    let (server, directory) = (try StubServer { _, _ in .init(body: "{}") }, try TestDirectory())
    defer { server.stop() }
    var sink = try sessions(server, directory)
    #expect(sink.deliver([build(finished: 1_000, lost: 3)], at: Self.time_ns) == .delivered)
    #expect(server.requests.isEmpty)
    #expect(sink.deliver([build(finished: 1_010, failed: 2, lost: 4)], at: Self.time_ns) == .delivered)
    // A restarted sink reads the file of accepted counts.
    sink = try sessions(server, directory)
    #expect(sink.deliver([build(finished: 1_010, failed: 2, lost: 4)], at: Self.time_ns) == .delivered)
    #expect(sink.deliver([build(finished: 1_011, failed: 2, lost: 4)], at: Self.time_ns) == .delivered)
    let items = try items(server)
    let attributes = JSONValue.object(["release": .string("shop@2-4"), "environment": .string("staging")])
    #expect(items.map { $0["attrs"] } == [attributes, attributes])
    #expect(
      items.first?["aggregates"]?.first
        == .object([
          "started": .string("2026-11-21T08:10:00.000000Z"), "exited": .int(10), "errored": .int(2),
          "crashed": .int(1),
        ]))
    #expect(items.last?["aggregates"]?.first?["exited"] == .int(1))
  }

  @Test("a new build, and a build whose counts crashd has restarted, are sent with their whole counts")
  func beginnings() throws {
    let (server, directory) = (try StubServer { _, _ in .init(body: "{}") }, try TestDirectory())
    defer { server.stop() }
    var sink = try sessions(server, directory)
    _ = sink.deliver([build(finished: 50)], at: Self.time_ns)
    let later = "2026-11-21T09:00:00.000000Z"
    let builds = [build(finished: 7, firstSeen: later), build("cd", finished: 4, firstSeen: later, release: nil)]
    #expect(sink.deliver(builds, at: Self.time_ns) == .delivered)
    let sums = Dictionary(
      try items(server).map { ($0["attrs"]?["release"]?.string ?? "", $0["aggregates"]?.first?["exited"]) }
    ) { $1 }
    #expect(sums == ["shop@2-4": .int(7), "shop@cd": .int(4)])
  }

  @Test("counts that Sentry does not accept now are sent later, and refused ones are dropped once")
  func failures() throws {
    let directory = try TestDirectory()
    let server = try StubServer { _, number in .init(status: number == 0 ? 503 : number == 1 ? 413 : 200) }
    defer { server.stop() }
    var sink = try sessions(server, directory)
    _ = sink.deliver([build(finished: 0)], at: Self.time_ns)
    guard case .later = sink.deliver([build(finished: 3)], at: Self.time_ns) else {
      Issue.record("503 is not temporary")
      return
    }
    guard case .refused = sink.deliver([build(finished: 5)], at: Self.time_ns) else {
      Issue.record("413 is not a refusal")
      return
    }
    #expect(sink.deliver([build(finished: 6)], at: Self.time_ns) == .delivered)
    #expect(try items(server).map { $0["aggregates"]?.first?["exited"] } == [.int(3), .int(5), .int(1)])
  }

  @Test("while the file of accepted counts cannot be written, nothing is sent, and nothing twice later")
  func fullDisk() throws {
    let (server, directory) = (try StubServer { _, _ in .init(body: "{}") }, try TestDirectory())
    defer { server.stop() }
    let next = directory.path + "/sentry-sessions.json.next"
    var sink = try sessions(server, directory)
    _ = sink.deliver([build(finished: 0)], at: Self.time_ns)
    // A directory at the path of the new file makes each write fail, also for root.
    #expect(unsafe mkdir(next, 0o700) == 0)
    for finished in 1...3 {
      guard case .later = sink.deliver([build(finished: finished)], at: Self.time_ns) else {
        Issue.record("the counts were sent although the file cannot be written")
        return
      }
      // A restart does not change this.
      sink = try sessions(server, directory)
    }
    #expect(unsafe rmdir(next) == 0 && server.requests.isEmpty)
    #expect(sink.deliver([build(finished: 4)], at: Self.time_ns) == .delivered)
    #expect(try items(server).map { $0["aggregates"]?.first?["exited"] } == [.int(4)])
  }

  @Test("accepted counts are not sent again if a later envelope fails, or the file cannot be replaced")
  func envelopes() throws {
    let directory = try TestDirectory()
    let server = try StubServer { _, number in .init(status: number == 1 ? 503 : 200) }
    defer { server.stop() }
    let builds = { (finished: Int) in
      (0...SentrySessions.itemLimit).map { self.build("b\($0)", finished: finished, release: "r\(1_000 + $0)") }
    }
    var sink = try sessions(server, directory)
    #expect(sink.deliver(builds(0), at: Self.time_ns) == .delivered)
    guard case .later = sink.deliver(builds(1), at: Self.time_ns) else {
      Issue.record("503 is not temporary")
      return
    }
    // A restarted sink reads that the counts of the first envelope were accepted.
    sink = try sessions(server, directory)
    #expect(sink.deliver(builds(1), at: Self.time_ns) == .delivered)
    // The 100 items of the first envelope were sent once, and the item of the second one twice.
    #expect(try items(server).count == SentrySessions.itemLimit + 2)
    // A nonempty directory at its path prevents that the file is replaced. The accepted counts then stay in memory.
    let path = directory.path + "/sentry-sessions.json"
    #expect(unsafe unlink(path) == 0 && mkdir(path, 0o700) == 0 && mkdir(path + "/x", 0o700) == 0)
    for finished in [2, 2, 3] {
      _ = sink.deliver([build("b0", finished: finished, release: "r1000")], at: Self.time_ns)
    }
    #expect(
      try items(server).suffix(2).map { $0["aggregates"]?.first?["exited"] } == [.int(1), .int(1)]
        && items(server).count == SentrySessions.itemLimit + 4)
  }

  @Test("OTLP metrics are cumulative sums since the build was first seen")
  func metrics() throws {
    let server = try StubServer { _, _ in .init(body: "{}") }
    defer { server.stop() }
    let url = "http://127.0.0.1:\(server.port)/v1/metrics"
    var sink = try #require(OTLPMetrics(url: url, headers: ["Authorization: Bearer t"], http: HTTPClient()))
    sink.host = "web-1"
    #expect(sink.deliver([], at: Self.time_ns) == .delivered && server.requests.isEmpty)
    #expect(sink.deliver([build(finished: 8, failed: 1, lost: 3)], at: Self.time_ns) == .delivered)
    let request = try #require(server.requests.first)
    #expect(request.line == "POST /v1/metrics HTTP/1.1" && request.headers["authorization"] == "Bearer t")
    let resource = try #require(JSONValue.decoded(request.body)?["resourceMetrics"]?.first)
    let about = try #require(resource["resource"]?["attributes"]?.attributes)
    #expect(about["service.name"] == "shop" && about["service.version"] == "shop@2/4" && about["host.name"] == "web-1")
    #expect(about["deployment.environment.name"] == "staging" && about["process.executable.build_id.gnu"] == "ab12")
    guard case .array(let metrics)? = resource["scopeMetrics"]?.first?["metrics"] else {
      Issue.record("no metrics")
      return
    }
    let points = Dictionary(
      metrics.map { ($0["name"]?.string ?? "", $0["sum"]) }
    ) { $1 }
    #expect(points.count == 4)
    let crashes = points["process.crash.count"]??["dataPoints"]?.first
    #expect(crashes?["asInt"] == .string("2") && crashes?["timeUnixNano"] == .string("\(Self.time_ns)"))
    #expect(crashes?["startTimeUnixNano"] == .string("1795248000000000000"))
    #expect(points["process.crash.exposure"]??["dataPoints"]?.first?["asDouble"] == .double(7_200.5))
    let ended = try #require(points["process.crash.requests.ended"] ?? nil)
    #expect(ended["aggregationTemporality"] == .int(2) && ended["isMonotonic"] == .bool(true))
    guard case .array(let outcomes)? = ended["dataPoints"] else {
      Issue.record("no outcomes")
      return
    }
    #expect(outcomes.map { $0["asInt"] } == [.string("8"), .string("1"), .string("3")])
    #expect(outcomes.map { $0["attributes"]?.attributes?["outcome"] } == ["finished", "failed", "lost"])
  }

  private struct Unused: HealthSink {
    let name = "unused"

    mutating func deliver(_: [BuildHealth], at _: UInt64) -> Delivery { .refused("crashd sent no builds") }
  }

  @Test("a malformed reply of crashd is logged once, without its text")
  func malformed() throws {
    let crashd = try FakeDaemon { connection in
      while connection.call() != nil { connection.reply(##"{"builds":"\u001b[31msecret"}"##) }
    }
    defer { crashd.stop() }
    let (stop, log, board) = (try StopSignal(), SinkRunnerTests.SharedLog(), SinkBoard())
    let client = CrashClient(socketPath: crashd.socketPath)
    var runner = HealthRunner(
      Unused(), filter: nil,
      around: .init(
        client: client, stop: stop, board: board, log: SinkLog { level, text in log.add("\(level): \(text)") }))
    runner.deliverOnce()
    runner.deliverOnce()
    #expect(log.calls == ["warning: unused: waiting: cannot read crashd's message"])
    #expect(board.counts(of: "unused").failure == "cannot read crashd's message")
  }
}
