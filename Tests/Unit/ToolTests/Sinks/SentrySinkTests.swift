import CrashClient
import CrashProtocol
import CrashReport
import TestKit
import Testing

@testable import crash_forward

@Suite("SentrySink")
struct SentrySinkTests {
  private func sink(_ server: StubServer, path: String = "", environment: String? = nil) throws -> SentrySink {
    let dsn = try #require(SentryDSN("http://public-key@127.0.0.1:\(server.port)\(path)/42"))
    return SentrySink(dsn, http: HTTPClient(), environment: environment, host: "web-1")
  }

  @Test("a Sentry envelope has a header, an item header with the length, and the event, on one line each")
  func envelope() throws {
    let server = try StubServer { _, _ in .init(body: #"{"id":"aa11"}"#) }
    defer { server.stop() }
    #expect(try sink(server).deliver(Sample.event(id: "aa11")) == .delivered)
    let request = try #require(server.requests.first)
    #expect(request.line == "POST /api/42/envelope/ HTTP/1.1")
    #expect(request.headers["content-type"] == "application/x-sentry-envelope")
    #expect(request.headers["x-sentry-auth"]?.contains("sentry_key=public-key") == true)
    let lines = request.body.split(separator: UInt8(ascii: "\n")).map(Array.init)
    #expect(lines.count == 3)
    #expect(JSONValue.decoded(lines[0])?["event_id"] == .string("aa11"))
    #expect(JSONValue.decoded(lines[1])?["type"] == .string("event"))
    #expect(JSONValue.decoded(lines[1])?["length"] == .int(lines[2].count))
    #expect(JSONValue.decoded(lines[2])?["event_id"] == .string("aa11"))
  }

  @Test("a Sentry event has the group as fingerprint, the innermost frame last, and marked in-app frames")
  func event() throws {
    let frames = #"""
      "threads":[{"tid":7,"name":"w","crashed":true,"registers":{},"frames":[
      {"address":"0x10","function":"trap()","mangled":"t","isInline":false,"isAsync":false,"isOwn":false,
      "trust":"context","image":"/usr/lib/libswiftCore.so"},
      {"address":"0x20","function":"buy()","mangled":"b","file":"/src/Cart.swift","line":42,"isInline":false,
      "isAsync":false,"isOwn":true,"trust":"cfi","image":"/srv/shop"}]}],
      """#.split(separator: "\n").joined()
    let event = try Sample.event(id: "aa11", more: frames)
    let json = SentryEvent(report: event.report, environment: "production", release: nil, host: "web-1").json
    #expect(json["fingerprint"] == .array([.string("k")]))
    #expect(json["release"] == .string("shop@ab"))
    #expect(json["environment"] == .string("production"))
    #expect(json["server_name"] == .string("web-1"))
    #expect(json["level"] == .string("fatal"))
    guard case .array(let exceptions)? = json["exception"]?["values"], let exception = exceptions.first,
      case .array(let stack)? = exception["stacktrace"]?["frames"]
    else {
      Issue.record("no exception with a stack")
      return
    }
    #expect(exception["type"] == .string("SIGILL"))
    #expect(exception["value"] == .string("An index was out of range in checkout()."))
    #expect(exception["mechanism"]?["handled"] == .bool(false))
    #expect(stack.map { $0["function"] } == [.string("buy()"), .string("trap()")])
    #expect(stack.map { $0["in_app"] } == [.bool(true), .bool(false)])
    #expect(stack[0]["filename"] == .string("Cart.swift"))
    #expect(stack[0]["lineno"] == .int(42))
    #expect(json["transaction"] == .string("buy()"))
  }

  @Test("a Sentry event has the report's release, environment, user and tags, and the machine as contexts")
  func fields() throws {
    let report = try Sample.event(id: "aa11", more: Sample.facts).report
    let json = SentryEvent(report: report, environment: nil, release: nil, host: "other").json
    #expect(json["release"] == .string("shop@2-4") && json["environment"] == .string("staging"))
    #expect(json["user"]?["id"] == .string("17") && json["server_name"] == .string("web-3"))
    #expect(json["tags"]?["region"] == .string("eu") && json["tags"]?["signal"] == .string("SIGILL"))
    // Sentry would drop these two tags, because the value of one is too long, and the key of the other has a space. The
    // sink sends them as extra data.
    #expect(json["tags"]?["long"] == nil && json["tags"]?["a b"] == nil)
    #expect(json["extra"]?["long"] == .string(Sample.long) && json["extra"]?["a b"] == .string("c"))
    let contexts = json["contexts"]
    #expect(contexts?["os"]?["kernel_version"] == .string("Linux 6.1.0"))
    #expect(contexts?["device"]?["cpu_description"] == .string("AMD EPYC"))
    #expect(contexts?["device"]?["arch"] == .string("arm64"))
    #expect(contexts?["runtime"] == .object(["name": .string("Swift"), "version": .string("6.3")]))
    #expect(contexts?["app"]?["app_memory"] == .int(430))
    #expect(contexts?["process"]?["command_line"] == .string("shop --port 80"))
    #expect(contexts?["process"]?["memory_limit"] == .int(512))
    #expect(contexts?["container"]?["id"] == .string("c0ff"))
    #expect(contexts?["crash"]?["type"] == .string("crash"))
    let own = SentryEvent(report: report, environment: "production", release: "r", host: nil).json
    #expect(own["release"] == .string("r") && own["environment"] == .string("production"))
  }

  @Test("a Sentry event has the container and its pod as contexts and as tags")
  func pod() throws {
    let report = try Sample.event(id: "aa11", more: Sample.pod).report
    let json = SentryEvent(report: report, environment: nil, release: nil, host: nil).json
    let contexts = json["contexts"]
    #expect(contexts?["container"]?["id"] == .string("c0ff") && contexts?["container"]?["name"] == .string("web"))
    #expect(contexts?["k8s"]?["pod_name"] == .string("shop-7c5") && contexts?["k8s"]?["pod_uid"] == .string("2f7a"))
    let wanted = [
      "k8s.pod.name": "shop-7c5", "k8s.namespace.name": "production", "k8s.node.name": "node-2",
      "k8s.container.name": "web", "k8s.pod.uid": "2f7a", "container.id": "c0ff", "region": "eu",
    ]
    for (key, value) in wanted { #expect(json["tags"]?[key] == .string(value), "\(key)") }
    #expect(json["extra"]?["k8s.pod.name"] == nil)
  }

  @Test("a Sentry event of a report without these data has no empty context, and has crash-forward's host")
  func noFacts() throws {
    let report = try Sample.event(id: "aa11").report
    let json = SentryEvent(report: report, environment: nil, release: nil, host: "web-1").json
    guard case .object(let contexts)? = json["contexts"] else {
      Issue.record("no contexts")
      return
    }
    #expect(contexts.keys.sorted() == ["app", "crash"])
    #expect(json["server_name"] == .string("web-1") && json["user"] == nil && json["environment"] == nil)
  }

  @Test("a Sentry event has the operation as transaction, the trace as context, and the request of each breadcrumb")
  func request() throws {
    let json = { (more: String) throws -> JSONValue in
      let report = try Sample.event(id: "aa11", more: more).report
      return SentryEvent(report: report, environment: nil, release: nil, host: nil).json
    }
    let event = try json(Sample.request)
    #expect(event["transaction"] == .string("GET /cart/{id}"))
    let trace = event["contexts"]?["trace"]
    #expect(trace?["trace_id"] == .string("4bf92f3577b34da6a3ce929d0e0e4736"))
    #expect(trace?["span_id"] == .string("00f067aa0ba902b7"))
    let request = event["contexts"]?["server_request"]
    #expect(request?["id"] == .string("7F3A") && request?["age_ms"] == .int(34) && request?["in_flight"] == .int(51))
    #expect(request?["tags"]?["tier"] == .string("gold"))
    #expect(event["breadcrumbs"]?["values"]?.first?["data"]?["request"] == .string("7F3A"))
    // The sink omits a trace without a span, because Sentry refuses it.
    let spanless = try json(Sample.request.replacing(#","spanID":"00f067aa0ba902b7""#, with: ""))
    #expect(spanless["contexts"]?["trace"] == nil && spanless["contexts"]?["server_request"] != nil)
    let none = try json("")
    #expect(none["contexts"]?["trace"] == nil && none["contexts"]?["server_request"] == nil)
  }

  @Test("a Sentry event has a context with the verdict and the drain, if containment was on")
  func containment() throws {
    let contexts = { (more: String) throws -> JSONValue? in
      let report = try Sample.event(id: "aa11", more: more).report
      return SentryEvent(report: report, environment: nil, release: nil, host: nil).json["contexts"]
    }
    let context = try contexts(Sample.containment)?["containment"]
    #expect(context?["summary"] == .string(Sample.containmentText) && context?["verdict"] == .string("drain"))
    #expect(context?["drain_end"] == .string("done") && context?["drain_lost"] == .int(1))
    #expect(try contexts("")?["containment"] == nil)
  }

  @Test("a Sentry breadcrumb has exactly the level, category and data that the breadcrumb has")
  func breadcrumbs() throws {
    let event = try Sample.event(
      id: "aa11",
      more: #""breadcrumbs":[{"time":"2026-11-21T08:13:07Z","text":"started"},{"time":"2026-11-21T08:13:08Z","#
        + #""text":"pay","level":"critical","category":"shop","metadata":{"request-id":"7F3A"}}],"#)
    let json = SentryEvent(report: event.report, environment: nil, release: nil, host: nil).json
    #expect(
      json["breadcrumbs"]?["values"]
        == .array([
          .object([
            "timestamp": .string("2026-11-21T08:13:07Z"), "message": .string("started"), "type": .string("default"),
          ]),
          .object([
            "timestamp": .string("2026-11-21T08:13:08Z"), "message": .string("pay"), "type": .string("default"),
            "level": .string("fatal"), "category": .string("shop"),
            "data": .object(["request-id": .string("7F3A")]),
          ]),
        ]))
  }

  @Test("a Sentry debug id is the build id with its first three fields byte-swapped")
  func debugID() {
    #expect(
      SentryEvent.debugID("0123456789abcdef00112233445566778899aabb") == "67452301-ab89-efcd-0011-223344556677")
    #expect(SentryEvent.debugID("ab") == nil)
  }

  @Test("a DSN may have a path before its project, a port, and an old second key")
  func dsn() throws {
    let dsn = try #require(SentryDSN("https://abc:old@sentry.example.org:8443/errors/7"))
    #expect(dsn.envelopeURL == "https://sentry.example.org:8443/errors/api/7/envelope/")
    #expect(dsn.host == "sentry.example.org:8443")
    #expect(dsn.authorization.hasSuffix("sentry_key=abc"))
  }

  @Test(
    "a malformed Sentry DSN is refused",
    arguments: [
      "", "abc", "https://example.org/7", "ftp://k@example.org/7", "https://k@example.org/", "https://k@/7",
      "https://k@:80/7", "https://k y@example.org/7", "https://k\n@example.org/7", "https://k@example.org/7?x=1",
      "https://,@example.org/7",
    ])
  func noDSN(text: String) { #expect(SentryDSN(text) == nil) }

  @Test(
    "the status of Sentry's response decides whether an event is delivered, retried or dropped",
    arguments: [
      (400, "", Delivery.refused("HOST answers 400: too old")), (413, "", .refused("HOST answers 413: too old")),
      (429, "Retry-After: 7\r\n", .later("HOST answers 429", after: .seconds(7))),
      (503, "", .later("HOST answers 503")), (401, "", .later("HOST answers 401", maybeNever: true)),
      (500, "Retry-After: 7\r\n", .later("HOST answers 500", after: .seconds(7), maybeNever: true)),
      // A redirect is not followed, because the key must not be sent to another address.
      (302, "Location: http://127.0.0.1:1/\r\n", .later("HOST answers 302", maybeNever: true)),
    ] as [(Int, String, Delivery)])
  func answers(status: Int, headers: String, expected: Delivery) throws {
    let server = try StubServer { _, before in
      before == 0 ? .init() : .init(status: status, headers: headers, body: "too\u{1b}old")
    }
    defer { server.stop() }
    let sink = try sink(server)
    #expect(try sink.deliver(Sample.event(id: "aa10")) == .delivered)
    let got = try sink.deliver(Sample.event(id: "aa11"))
    let host = "127.0.0.1:\(server.port)"
    let wanted: Delivery =
      switch expected {
      case .refused(let why): .refused(why.replacing("HOST", with: host).replacing("too old", with: "too␛old"))
      case .later(let why, let after, let maybeNever):
        .later(why.replacing("HOST", with: host), after: after, maybeNever: maybeNever)
      case .delivered: .delivered
      }
    #expect(got == wanted)
    #expect(server.requests.count == 2)
  }

  @Test("after a status 400 before the first accepted event, the event is retried, because the server may be wrong")
  func unproven() throws {
    let server = try StubServer { _, before in before == 1 ? .init() : .init(status: 400) }
    defer { server.stop() }
    let sink = try sink(server)
    let host = "127.0.0.1:\(server.port)"
    #expect(
      try sink.deliver(Sample.event(id: "aa11"))
        == .later("\(host) answers 400 and has accepted nothing yet: is the address right?", maybeNever: true))
    #expect(try sink.deliver(Sample.event(id: "aa11")) == .delivered)
    #expect(try sink.deliver(Sample.event(id: "aa12")) == .refused("\(host) answers 400"))
  }

  @Test("the password of a proxy does not appear in error messages")
  func proxy() {
    let answer = HTTPClient.Answer(status: 0, body: [], problem: "Unsupported proxy syntax in 'http://u:hidden@:'")
    #expect(answer.delivery(from: "h") == .later("h: libcurl cannot use the proxy's address"))
  }

  @Test("after a connection that breaks before the answer, the event is retried over a new connection")
  func brokenOff() throws {
    let server = try StubServer { _, before in before == 0 ? nil : .init() }
    defer { server.stop() }
    let sink = try sink(server)
    guard case .later(let why, let after, false) = try sink.deliver(Sample.event(id: "aa11")) else {
      Issue.record("a broken connection is no answer")
      return
    }
    #expect(why.hasPrefix("127.0.0.1:\(server.port): ") && after == nil)
    #expect(try sink.deliver(Sample.event(id: "aa11")) == .delivered)
  }

  @Test("a long report is sent in one request")
  func long() throws {
    let server = try StubServer { _, _ in .init() }
    defer { server.stop() }
    let long = String(repeating: "x", count: 2 << 20)
    let event = try Sample.event(id: "aa11", more: #""annotations":{"note":"\#(long)"},"#)
    #expect(try sink(server).deliver(event) == .delivered)
    #expect(server.requests.first.map { $0.body.count > 2 << 20 } == true)
  }
}
