import CrashClient
import CrashProtocol
import CrashReport
import CrashSettings
import Foundation
import LinuxSystem
import Testing

@testable import crash_forward

@Suite("WebhookSink")
struct WebhookSinkTests {
  private func deliver(
    _ answer: StubServer.Answer = .init(), path: String = "/hook/secret-path?wait=1", more: String = "",
    _ change: (inout WebhookSink) -> Void = { _ in }
  ) throws -> (delivery: Delivery, request: StubServer.Request) {
    let server = try StubServer { _, _ in answer }
    defer { server.stop() }
    let url = "http://127.0.0.1:\(server.port)\(path)"
    var sink = try #require(WebhookSink(url: url, headers: ["Authorization: Bearer t"], http: HTTPClient()))
    sink.host = "web-1"
    change(&sink)
    let delivery = try sink.deliver(Sample.event(id: "aa11", more: more))
    return (delivery, try #require(server.requests.first))
  }

  @Test("a webhook gets a JSON summary of the crash, with the headers of the settings and the query of its URL")
  func summary() throws {
    let (delivery, request) = try deliver()
    #expect(delivery == .delivered)
    #expect(request.line == "POST /hook/secret-path?wait=1 HTTP/1.1")
    #expect(request.headers["content-type"] == "application/json" && request.headers["authorization"] == "Bearer t")
    let json = try #require(JSONValue.decoded(request.body))
    let expected: [String: JSONValue] = [
      "event": .string("crash"), "id": .string("aa11"), "host": .string("web-1"), "program": .string("shop"),
      "pid": .int(4711), "signal": .string("SIGILL"), "group": .string("k"), "function": .string("checkout()"),
      "file": .string("/src/Cart.swift"), "line": .int(42), "place": .string("/src/Cart.swift:42"),
      "reason": .string("Fatal error: Index out of range"),
      "headline": .string("shop[4711] crashed by SIGILL: An index was out of range in checkout()."),
      "stack": .string("#0 0x401000 checkout() at /src/Cart.swift:42"),
    ]
    for (name, value) in expected { #expect(json[name] == value, "\(name)") }
    #expect(json["environment"] == nil)
  }

  @Test("a webhook's summary has the effect of containment, if containment was on")
  func containment() throws {
    let json = WebhookSummary(report: try Sample.event(id: "aa11", more: Sample.containment).report).json
    #expect(json["containment"] == .string(Sample.containmentText))
    #expect(WebhookSummary(report: try Sample.event(id: "aa11").report).json["containment"] == nil)
  }

  @Test("webhook templates may use exactly the names of the summary's fields")
  func names() throws {
    let fields = WebhookSummary(report: try Sample.event(id: "aa11").report).fields
    #expect(fields.map(\.name) == WebhookSummary.names)
  }

  @Test("Slack's body is one string, in which a program's name cannot become markup")
  func slack() throws {
    let process =
      #""process":{"pid":7,"uid":0,"name":"<!channel> & ```","executable":"/x","buildID":"","startTime":""},"#
    let (_, request) = try deliver(more: process) { $0.format = .slack }
    let json = try #require(JSONValue.decoded(request.body))
    guard case .object(let members) = json else {
      Issue.record("the body is no object")
      return
    }
    #expect(members.keys.map { $0 } == ["text"])
    let text = try #require(json["text"]?.string)
    #expect(text.hasPrefix("*&lt;!channel&gt; &amp; '''[7] crashed by SIGILL: "))
    #expect(text.contains("web-1") && text.contains("checkout() at /src/Cart.swift:42"))
    #expect(text.ranges(of: "```").count == 2)
  }

  @Test(
    "markup with a combining mark is escaped; strings can neither mention a Mattermost channel nor hide a link",
    arguments: [
      ("<\u{301}!channel>\u{600}", "&lt;\u{301}!channel&gt;\u{600}"), ("\u{600}&\u{301}", "\u{600}&amp;\u{301}"),
      ("``\u{301}`", "''\u{301}'"), ("@channel @\u{301}all", "@\u{200B}channel @\u{200B}\u{301}all"),
      ("[t](u) f(x)", "[t]\u{200B}(u) f(x)"),
    ])
  func slackScalars(text: String, escaped: String) {
    #expect(WebhookTemplate.slackText(text).unicodeScalars.elementsEqual(escaped.unicodeScalars))
  }

  @Test("a template keeps its structure, whatever strings of a report replace the placeholders")
  func template() throws {
    let template = try WebhookTemplate(
      #"{"summary": "${program} ${signal} on ${host}", "line": 1, "details": [{"${id}": "${line}${unit}"}, true]}"#)
    let process =
      #""process":{"pid":7,"uid":0,"name":"a\",\"b\":\"${host}","executable":"/x","buildID":"","startTime":""},"#
    let (_, request) = try deliver(more: process) { $0.template = template }
    #expect(
      JSONValue.decoded(request.body)
        == .object([
          "summary": .string("a\",\"b\":\"${host} SIGILL on web-1"), "line": .int(1),
          "details": .array([.object(["${id}": .string("42")]), .bool(true)]),
        ]))
  }

  @Test("long strings of a report are truncated in a webhook's message")
  func long() throws {
    let (_, request) = try deliver(more: #""reason":"\#(String(repeating: "é", count: 5_000))","#)
    let reason = try #require(JSONValue.decoded(request.body)?["reason"]?.string)
    #expect(reason == String(repeating: "é", count: WebhookSummary.textLimit) + "…")
  }

  @Test(
    "a response has the same effect as for other sinks, and no message contains the URL's path, which is secret",
    arguments: [
      (404, "", Delivery.later("HOST answers 404", maybeNever: true)),
      (429, "Retry-After: 3\r\n", .later("HOST answers 429", after: .seconds(3))),
      (503, "", .later("HOST answers 503")), (413, "", .refused("HOST answers 413")), (200, "", .delivered),
    ] as [(Int, String, Delivery)])
  func answers(status: Int, headers: String, expected: Delivery) throws {
    let (delivery, request) = try deliver(.init(status: status, headers: headers, body: "no hook/secret-path"))
    #expect(!"\(delivery)".contains("secret"))
    let host = try #require(request.headers["host"])
    switch expected {
    case .later(let why, let after, let maybeNever):
      #expect(
        delivery == .later(why.replacing("HOST", with: host), after: after, maybeNever: maybeNever))
    case .refused(let why): #expect(delivery == .refused(why.replacing("HOST", with: host)))
    default: #expect(delivery == expected)
    }
  }

  @Test(
    "a malformed URL of a webhook is refused",
    arguments: [
      "", "hooks.example.org/x", "https://u:p@h/x", "https://h", "https://h/x#y", "https://h/a b", "ftp://h/x",
    ])
  func noURL(text: String) { #expect(WebhookSink(url: text, http: HTTPClient()) == nil) }
}

@Suite("Settings of webhooks")
struct WebhookSettingsTests {
  private func read(_ yaml: String, _ environment: [String: String] = [:]) throws(SettingsError) -> ForwardSettings {
    var reader = ForwardSettingsReader()
    try reader.read(yaml: yaml, at: "f.yaml")
    try reader.read(environment: environment)
    return reader.settings
  }

  private func problem(_ yaml: String) -> String {
    do throws(SettingsError) { _ = try read(yaml) } catch { return "\(error)" }
    return "none"
  }

  private func withFile(_ text: String, _ body: (String) throws -> Void) throws {
    let path = "/tmp/cs-template-\(UUID().uuidString.prefix(8))"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    // Invariant: the path is read only during the call.
    defer { _ = unsafe unlink(path) }
    try body(path)
  }

  @Test("a webhook's URL comes from a file or the environment, is never printed, and is refused in a settings file")
  func secrets() throws {
    try withFile("https://hooks.example.org/T0/hidden\n") { path in
      let settings = try read("webhook: {url-file: \(path), format: slack, rate: 6}")
      #expect(settings.webhookURL == Secret("https://hooks.example.org/T0/hidden"))
      #expect(settings.webhookFormat == .slack && settings.webhook.perMinute == 6 && settings.webhook.scrubs)
      #expect(!ForwardSettingsReader.text(settings).contains("hidden"))
    }
    #expect(problem("webhook:\n  url: https://h/hidden").hasPrefix("f.yaml:2: webhook.url is a secret: name a file by"))
    #expect(try read("", ["CRASH_FORWARD_WEBHOOK_URL": "https://h/x"]).webhookURL == Secret("https://h/x"))
  }

  @Test("errors in webhook settings name the key and the line")
  func problems() throws {
    #expect(problem("webhook:\n  format: xml") == "f.yaml:2: webhook.format takes json or slack")
    #expect(
      problem("webhook:\n  template-file: /nonexistent/x")
        == "f.yaml:2: the file of webhook.template-file: cannot read it: No such file or directory")
    try withFile(#"{"a": ["${progam}"]}"#) { path in
      #expect(
        problem("webhook:\n  rate: 3\n  template-file: \(path)")
          == "f.yaml:3: unknown placeholder '${progam}'; did you mean 'program'?")
    }
    try withFile("[1]") { path in
      #expect(
        problem("webhook: {template-file: \(path)}")
          == "f.yaml:1: the file of webhook.template-file must contain a JSON object")
    }
  }

  @Test("settings without a sink are valid, and no sink is started")
  func idle() throws {
    let stop = try StopSignal()
    let forwarder = try CrashForwarder(
      ForwardSettings(), client: .init(socketPath: "/nonexistent"), stop: stop, board: SinkBoard(),
      log: SinkLog { _, _ in })
    #expect(forwarder.isIdle)
  }

  @Test("a malformed URL of a webhook is a settings error that does not repeat the URL")
  func malformed() throws {
    let settings = try read("", ["CRASH_FORWARD_WEBHOOK_URL": "hidden"])
    let stop = try StopSignal()
    #expect(
      throws: SettingsError(
        place: "webhook.url", reason: "it is not a URL such as https://HOST/PATH, without a password")
    ) {
      try CrashForwarder(
        settings, client: .init(socketPath: "/nonexistent"), stop: stop, board: SinkBoard(),
        log: SinkLog { _, _ in })
    }
  }
}
