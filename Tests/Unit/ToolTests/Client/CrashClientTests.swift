import CrashClient
import CrashProtocol
import CrashReport
import Foundation
import TestKit
import Testing

@Suite("CrashClient")
struct CrashClientTests {
  @Test("a reply that arrives byte by byte is read completely")
  func bytewise() throws {
    let daemon = try FakeDaemon { connection in
      _ = connection.call()
      connection.reply(SampleJSON.status, piecesOf: 1)
    }
    defer { daemon.stop() }
    let status = try CrashClient(socketPath: daemon.socketPath).status()
    #expect(status.version == "0.1.0")
    #expect(status.uptimeSeconds == 90)
    #expect(status.losses == ["torn": 1])
  }

  @Test("a call is JSON without nulls and with the full method name, ended by NUL")
  func request() throws {
    let daemon = try FakeDaemon { connection in
      let call = Data((connection.call() ?? "").utf8)
      connection.reply(#"{"id":"\#(call.base64EncodedString())"}"#, error: "io.crashshield.Crashd.NoSuchReport")
    }
    defer { daemon.stop() }
    let error = #expect(throws: ClientError.self) {
      try CrashClient(socketPath: daemon.socketPath).list(ListQuery(limit: 3, filter: ReportFilter(name: "shop")))
    }
    guard case .refused(.noSuchReport(let text)) = try #require(error) else { throw try #require(error) }
    let call = try JSONDecoder().decode(JSONValue.self, from: #require(Data(base64Encoded: text)))
    #expect(call["method"] == .string("io.crashshield.Crashd.List"))
    #expect(call["parameters"] == .object(["limit": .int(3), "name": .string("shop")]))
    #expect(call["more"] == nil)
  }

  @Test("a call longer than the socket's buffer is sent completely")
  func longCall() throws {
    let daemon = try FakeDaemon { connection in
      let count = connection.call()?.utf8.count ?? 0
      connection.reply(#"{"id":"\#(count)"}"#, error: "io.crashshield.Crashd.NoSuchReport")
    }
    defer { daemon.stop() }
    let name = String(repeating: "x", count: 3 << 20)
    let error = #expect(throws: ClientError.self) {
      try CrashClient(socketPath: daemon.socketPath).list(ListQuery(filter: ReportFilter(name: name)))
    }
    guard case .refused(.noSuchReport(let count)) = try #require(error) else { throw try #require(error) }
    #expect(try #require(Int(count)) > name.utf8.count)
  }

  @Test(
    "each error of the Varlink interface is decoded as its own case",
    arguments: [
      ("NoSuchReport", #"{"id":"ab"}"#, ProtocolError.noSuchReport(id: "ab")),
      ("AmbiguousID", #"{"id":"a","count":3}"#, .ambiguousID(id: "a", count: 3)),
      ("InvalidCursor", #"{"cursor":"c"}"#, .invalidCursor("c")),
      ("StoreUnavailable", #"{"reason":"full"}"#, .storeUnavailable(reason: "full")),
      ("Other", #"{"x":1}"#, .other(name: "io.crashshield.Crashd.Other", parameters: ["x": .int(1)])),
    ])
  func remoteErrors(name: String, parameters: String, expected: ProtocolError) throws {
    let daemon = try FakeDaemon { connection in
      _ = connection.call()
      connection.reply(parameters, error: "io.crashshield.Crashd." + name)
    }
    defer { daemon.stop() }
    #expect(throws: ClientError.refused(expected)) { try CrashClient(socketPath: daemon.socketPath).report(id: "ab") }
  }

  @Test("the client returns recorded stacks even if it cannot decode their report")
  func stacksAlone() throws {
    let daemon = try FakeDaemon { connection in
      _ = connection.call()
      connection.reply(#"{"report":[7],"stacks":[{"tid":8,"start":"0x1000","bytes":"AQI="}]}"#)
    }
    defer { daemon.stop() }
    let stacks = try CrashClient(socketPath: daemon.socketPath).stacks(id: "ab")
    #expect(stacks.map(\.tid) == [8] && stacks.first?.bytes == [1, 2])
  }

  @Test("unknown keys stay in the JSON of a report")
  func unknownKeys() throws {
    let daemon = try FakeDaemon { connection in
      _ = connection.call()
      connection.reply(#"{"report":\#(SampleJSON.report(id: "ab12", more: #""later":[1,null,2.5,true],"#))}"#)
    }
    defer { daemon.stop() }
    let received = try CrashClient(socketPath: daemon.socketPath).report()
    #expect(received.report.id == "ab12")
    #expect(received.report.threads.first?.frames.first?.line == 42)
    #expect(received.json["later"] == .array([.int(1), .null, .double(2.5), .bool(true)]))
  }

  @Test(
    "bytes that are not a reply cause the error for a malformed reply",
    arguments: ["nonsense", "", "{}", #"{"parameters":[]}"#, "\u{1}"])
  func garbage(text: String) throws {
    let daemon = try FakeDaemon { connection in
      _ = connection.call()
      connection.send(text + "\0")
    }
    defer { daemon.stop() }
    let error = #expect(throws: ClientError.self) { try CrashClient(socketPath: daemon.socketPath).status() }
    guard case .malformedReply(let reason) = try #require(error) else { throw try #require(error) }
    #expect(!reason.isEmpty)
  }

  @Test("a connection that ends within a reply is an error")
  func closedInside() throws {
    let daemon = try FakeDaemon { connection in
      _ = connection.call()
      connection.send(#"{"parameters":{"vers"#)
    }
    defer { daemon.stop() }
    let client = CrashClient(socketPath: daemon.socketPath)
    #expect(throws: ClientError.closed(path: daemon.socketPath)) { try client.status() }
  }

  @Test("if the peer hangs up during a call, the call fails, and no SIGPIPE ends the process")
  func hangupWhileSending() throws {
    let daemon = try FakeDaemon { _ in }
    defer { daemon.stop() }
    let query = ListQuery(filter: ReportFilter(name: String(repeating: "x", count: 3 << 20)))
    #expect(throws: ClientError.closed(path: daemon.socketPath)) {
      try CrashClient(socketPath: daemon.socketPath).list(query)
    }
  }

  @Test("a reply longer than the limit is rejected")
  func oversized() throws {
    let daemon = try FakeDaemon { connection in
      _ = connection.call()
      connection.send(String(repeating: "x", count: 2 << 20))
      connection.waitForHangup()
    }
    defer { daemon.stop() }
    let client = CrashClient(socketPath: daemon.socketPath, messageLimitBytes: 1 << 20)
    #expect(throws: ClientError.messageTooLarge(limitBytes: 1 << 20)) { try client.status() }
  }

  @Test("a call to a daemon that does not answer fails after the timeout")
  func silence() throws {
    let daemon = try FakeDaemon { $0.waitForHangup() }
    defer { daemon.stop() }
    let client = CrashClient(socketPath: daemon.socketPath, timeout: .milliseconds(30))
    #expect(throws: ClientError.timedOut(path: daemon.socketPath)) { try client.status() }
  }

  @Test("a connection to a path without a listener fails with the reason")
  func unreachable() {
    #expect(throws: ClientError.unreachable(path: "/nowhere/s", errno: ENOENT)) {
      try CrashClient(socketPath: "/nowhere/s").status()
    }
    let long = "/" + String(repeating: "x", count: 200)
    #expect(throws: ClientError.unreachable(path: long, errno: ENAMETOOLONG)) {
      try CrashClient(socketPath: long).status()
    }
  }
}
