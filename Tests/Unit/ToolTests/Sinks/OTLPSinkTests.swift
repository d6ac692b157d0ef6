import CrashProtocol
import Testing

@testable import crash_forward

@Suite("OTLPSink")
struct OTLPSinkTests {
  private func deliver(
    _ answer: StubServer.Answer, headers: [String] = [], more: String = ""
  ) throws -> (delivery: Delivery, request: StubServer.Request) {
    let server = try StubServer { _, _ in answer }
    defer { server.stop() }
    let url = "http://127.0.0.1:\(server.port)/v1/logs"
    let sink = try #require(OTLPSink(url: url, headers: headers, http: HTTPClient(), host: "web-1"))
    let delivery = try sink.deliver(Sample.event(id: "aa11", more: more))
    return (delivery, try #require(server.requests.first))
  }

  @Test("a crash is one OTLP log record with the attributes of the semantic conventions")
  func record() throws {
    let (delivery, request) = try deliver(.init(body: "{}"), headers: ["Authorization: Bearer t"])
    #expect(delivery == .delivered)
    #expect(request.line == "POST /v1/logs HTTP/1.1")
    #expect(request.headers["content-type"] == "application/json")
    #expect(request.headers["authorization"] == "Bearer t")
    let json = try #require(JSONValue.decoded(request.body))
    let resource = try #require(json["resourceLogs"]?.first)
    let record = try #require(resource["scopeLogs"]?.first?["logRecords"]?.first)
    #expect(record["timeUnixNano"] == .string("1795248611000123000"))
    #expect(record["severityNumber"] == .int(21))
    #expect(
      record["body"]?["stringValue"]
        == .string("shop[4711] crashed by SIGILL: An index was out of range in checkout()."))
    let attributes = record["attributes"]?.attributes
    #expect(attributes?["exception.type"] == "SIGILL")
    #expect(attributes?["exception.message"] == "Fatal error: Index out of range")
    #expect(attributes?["exception.stacktrace"] == "#0 0x401000 checkout() at /src/Cart.swift:42")
    #expect(attributes?["crash.group"] == "k")
    #expect(attributes?["crash.id"] == "aa11")
    #expect(attributes?["code.line.number"] == "42")
    let about = resource["resource"]?["attributes"]?.attributes
    #expect(about?["service.name"] == "shop")
    #expect(about?["host.name"] == "web-1")
    #expect(about?["process.pid"] == "4711")
  }

  @Test("release, environment, host, system, container and process are resource attributes")
  func resource() throws {
    let request = try deliver(.init(body: "{}"), more: Sample.facts).request
    let resource = try #require(JSONValue.decoded(request.body)?["resourceLogs"]?.first)
    let about = try #require(resource["resource"]?["attributes"]?.attributes)
    let wanted = [
      "service.version": "shop@2/4", "deployment.environment.name": "staging", "host.name": "web-3", "host.id": "43c2",
      "os.type": "linux", "os.version": "6.1.0", "os.description": "Debian GNU/Linux 12", "container.id": "c0ff",
      "process.command_line": "shop --port 80", "process.runtime.version": "6.3",
      "process.linux.cgroup": "/docker/c0ff", "host.arch": "arm64",
    ]
    for (key, value) in wanted { #expect(about[key] == value, "\(key)") }
    let record = try #require(resource["scopeLogs"]?.first?["logRecords"]?.first?["attributes"]?.attributes)
    #expect(record["user.id"] == "17" && record["crash.annotation.region"] == "eu")
    #expect(record["crash.memory.limit_bytes"] == "512" && record["crash.uptime_ms"] == "611000")
  }

  @Test("the container and its pod are resource attributes, and name the instance of the service")
  func pod() throws {
    let find = { (more: String) throws -> [String: String] in
      let json = OTLPRecord(report: try Sample.event(id: "aa11", more: more).report).json
      return try #require(json["resourceLogs"]?.first?["resource"]?["attributes"]?.attributes)
    }
    let wanted = [
      "container.id": "c0ff", "container.runtime.name": "containerd", "k8s.pod.uid": "2f7a", "k8s.pod.name": "shop-7c5",
      "k8s.namespace.name": "production", "k8s.node.name": "node-2", "k8s.container.name": "web",
      "service.instance.id": "production.shop-7c5.web",
    ]
    let about = try find(Sample.pod)
    for (key, value) in wanted { #expect(about[key] == value, "\(key)") }
    let noNamespace = try find(Sample.pod.replacing(#""namespace":"production","#, with: ""))
    #expect(noNamespace["service.instance.id"] == "2f7a.web")
    let noName = try find(Sample.pod.replacing(#""name":"web","#, with: ""))
    #expect(noName["service.instance.id"] == "c0ff")
    #expect(try find("")["service.instance.id"] == nil)
  }

  @Test("an OTLP record is part of the trace of its request, and has the route of an HTTP operation")
  func request() throws {
    let find = { (more: String) throws -> JSONValue? in
      let json = OTLPRecord(report: try Sample.event(id: "aa11", more: more).report).json
      return json["resourceLogs"]?.first?["scopeLogs"]?.first?["logRecords"]?.first
    }
    let record = try find(Sample.request)
    #expect(record?["traceId"] == .string("4bf92f3577b34da6a3ce929d0e0e4736"))
    #expect(record?["spanId"] == .string("00f067aa0ba902b7"))
    let attributes = try #require(record?["attributes"]?.attributes)
    let wanted = [
      "http.request.method": "GET", "http.route": "/cart/{id}", "crash.request.operation": "GET /cart/{id}",
      "crash.request.id": "7F3A", "crash.request.age_ns": "34000000", "crash.request.tag.tier": "gold",
      "crash.requests.in_flight": "51",
    ]
    for (key, value) in wanted { #expect(attributes[key] == value, "\(key)") }
    let rpc = try find(Sample.request.replacing("GET /cart/{id}", with: "shop.Cart/Get"))?["attributes"]?.attributes
    #expect(rpc?["http.route"] == nil && rpc?["crash.request.operation"] == "shop.Cart/Get")
    let spanOnly = try find(Sample.request.replacing("4bf92f3577b34da6a3ce929d0e0e4736", with: ""))
    #expect(spanOnly?["spanId"] == nil)
    let none = try find("")
    #expect(none?["traceId"] == nil && none?["spanId"] == nil)
  }

  @Test("an OTLP record has the verdict and the drain as attributes, if containment was on")
  func containment() throws {
    let find = { (more: String) throws -> [String: String]? in
      let json = OTLPRecord(report: try Sample.event(id: "aa11", more: more).report).json
      return json["resourceLogs"]?.first?["scopeLogs"]?.first?["logRecords"]?.first?["attributes"]?.attributes
    }
    let attributes = try #require(try find(Sample.containment))
    let wanted = [
      "crash.containment.mode": "contain", "crash.containment.verdict": "drain", "crash.containment.reason": "actor",
      "crash.containment.contained": "2", "crash.drain.end": "done", "crash.drain.finished": "50",
      "crash.drain.lost": "1",
    ]
    for (key, value) in wanted { #expect(attributes[key] == value, "\(key)") }
    let none = try #require(try find(""))
    for key in wanted.keys { #expect(none[key] == nil, "\(key)") }
  }

  @Test("the breadcrumbs of an OTLP record are an array of maps with level, category and data")
  func breadcrumbs() throws {
    let event = try Sample.event(
      id: "aa11",
      more: #""breadcrumbs":[{"time":"t","text":"pay","level":"error","category":"shop","metadata":{"id":"7"}}],"#)
    let json = OTLPRecord(report: event.report).json
    let record = json["resourceLogs"]?.first?["scopeLogs"]?.first?["logRecords"]?.first
    guard case .array(let attributes)? = record?["attributes"] else {
      Issue.record("a record has no attributes")
      return
    }
    let found = attributes.first { $0["key"] == .string("crash.breadcrumbs") }
    let members: [(String, JSONValue)] = [
      ("category", .object(["stringValue": .string("shop")])),
      (
        "data",
        .object([
          "kvlistValue": .object([
            "values": .array([
              .object(["key": .string("id"), "value": .object(["stringValue": .string("7")])])
            ])
          ])
        ])
      ),
      ("level", .object(["stringValue": .string("error")])),
      ("message", .object(["stringValue": .string("pay")])),
      ("time", .object(["stringValue": .string("t")])),
    ]
    let map = JSONValue.array(members.map { .object(["key": .string($0.0), "value": $0.1]) })
    #expect(
      found?["value"]
        == .object([
          "arrayValue": .object(["values": .array([.object(["kvlistValue": .object(["values": map])])])])
        ]))
  }

  @Test(
    "an OTLP response 200 with a rejected record is treated as a refusal",
    arguments: [#""1""#, "1"])
  func rejected(count: String) throws {
    let body = #"{"partialSuccess":{"rejectedLogRecords":\#(count),"errorMessage":"no room"}}"#
    guard case .refused(let why) = try deliver(.init(body: body)).delivery else {
      Issue.record("the record was not refused")
      return
    }
    #expect(why.hasSuffix(" rejects the report: no room"))
  }

  @Test("a collector's error message is cut to one short line")
  func words() throws {
    let words = #"no\r\n<0>room\u001b[2J\u202e"# + String(repeating: #"e\u0301"#, count: 300)
    let body = #"{"partialSuccess":{"rejectedLogRecords":1,"errorMessage":"\#(words)"}}"#
    guard case .refused(let why) = try deliver(.init(body: body)).delivery else {
      Issue.record("the record was not refused")
      return
    }
    #expect(why.contains(" rejects the report: no␍␊<0>room␛[2J\u{fffd}e\u{301}"))
    #expect(why.unicodeScalars.count < 250)
  }

  @Test(
    "an OTLP response with an empty partialSuccess is treated as a delivery",
    arguments: [#"{"partialSuccess":{}}"#, "", "no JSON"])
  func accepted(body: String) throws { #expect(try deliver(.init(body: body)).delivery == .delivered) }

  @Test(
    "a malformed URL of an OTLP collector is refused",
    arguments: ["", "localhost:4318", "http://u:p@127.0.0.1:4318/v1/logs", "http://127.0.0.1:4318"])
  func noURL(text: String) { #expect(OTLPSink(url: text, http: HTTPClient()) == nil) }
}

extension JSONValue {
  var first: JSONValue? {
    guard case .array(let values) = self else { return nil }
    return values.first
  }

  /// Converts OpenTelemetry's attributes, which are a list of keys and typed values, to a dictionary.
  var attributes: [String: String]? {
    guard case .array(let values) = self else { return nil }
    var members: [String: String] = [:]
    for value in values {
      guard let key = value["key"]?.string else { return nil }
      members[key] = value["value"]?["stringValue"]?.string ?? value["value"]?["intValue"]?.string
    }
    return members
  }
}
