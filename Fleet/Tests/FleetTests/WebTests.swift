import FleetStore
import Foundation
import Testing

@testable import CrashPages

/// Tests `crash-fleet web`, as an operator starts it.
@Suite("crash-fleet web")
struct WebTests {
  /// Starts the command, and returns it with its standard output.
  private func web(_ connection: String, _ arguments: [String]) throws -> (process: Process, output: Pipe) {
    let (process, output) = (FleetProcess.command(["web"] + arguments, on: connection), Pipe())
    (process.standardOutput, process.standardError) = (output, FileHandle.nullDevice)
    try process.run()
    return (process, output)
  }

  /// Returns the output up to a newline.
  private func line(_ output: Pipe) throws -> String {
    var text = ""
    while !text.contains("\n") {
      let more = output.fileHandleForReading.availableData
      try #require(!more.isEmpty)
      text += String(decoding: more, as: UTF8.self)
    }
    return text
  }

  /// Returns the host, the port and the path of the link.
  private func link(_ output: Pipe) throws -> (host: String, port: Int, login: String) {
    let link = try #require(line(output).firstMatch(of: /http:\/\/(127\.0\.0\.1:(\d+))(\/login\?token=[0-9a-f]{64})/))
    return (String(link.1), try #require(Int(link.2)), String(link.3))
  }

  private func cookie(_ opened: TestClient.Answer) throws -> String {
    String(try #require(opened.head.firstMatch(of: /(?i)set-cookie: ([^;]*)/)).1)
  }

  @Test("the pages answer only to the session of the link, on loopback")
  func pages() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([Sample.report(1)])
    let (process, output) = try web(test.connection, ["--tenant", "shop"])
    defer { process.terminate() }
    let (host, port, login) = try link(output)
    func get(_ path: String, _ headers: [String] = []) throws -> TestClient.Answer {
      try TestClient(port: port).request("GET", path, host: host, token: nil, headers: headers)
    }
    #expect(try get("/issues").status == 401)
    let opened = try get(login)
    let cookie = try cookie(opened)
    #expect(opened.status == 303)
    #expect(try get(login).status == 403)
    let issues = try get("/issues", ["Cookie: \(cookie)"])
    #expect(issues.status == 200 && issues.body.contains("title of a1"))
    #expect(try get("/issues", ["Cookie: \(cookie)", "Origin: http://evil.example"]).status == 403)
    #expect(try TestClient(port: port).request("GET", "/issues", host: "evil.example", token: nil).status == 403)
  }

  @Test("an open page learns of a new crash of its tenant, and does not delay the end of the command")
  func changes() async throws {
    let fleet = try await FleetProcess()
    let (process, output) = try web(fleet.test.connection, ["--tenant", "shop"])
    defer { process.terminate() }
    let (host, port, login) = try link(output)
    let refused = try TestClient(port: port).request("GET", "/changes", host: host, token: nil)
    #expect(refused.status == 401)
    let cookie = try cookie(try TestClient(port: port).request("GET", login, host: host, token: nil))
    let page = try TestClient(port: port).request(
      "GET", "/issues", host: host, token: nil, headers: ["Cookie: \(cookie)"])
    #expect(page.body.contains("data-changes=\"/changes\""))
    let open = try TestClient(port: port)
    open.send(Array("GET /changes HTTP/1.1\r\nHost: \(host)\r\nCookie: \(cookie)\r\n\r\n".utf8))
    // The server listens for changes from the first event on.
    #expect(try open.text(until: "data: changed").contains("text/event-stream"))
    let other = try await fleet.test.store.addToken(tenant: "other", name: "hosts").text
    #expect(try fleet.post(Sample.line(1), token: other).status == 200)
    #expect(try fleet.post(Sample.line(2)).status == 200)
    let event = try open.text(until: "data: changed")
    #expect(event.components(separatedBy: "data: changed").count == 2)
    process.terminate()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  @Test("the number of open streams has a limit")
  func streams() async throws {
    let test = try await TestStore()
    let (process, output) = try web(test.connection, ["--tenant", "shop"])
    defer { process.terminate() }
    let (host, port, login) = try link(output)
    let cookie = try cookie(try TestClient(port: port).request("GET", login, host: host, token: nil))
    let request = Array("GET /changes HTTP/1.1\r\nHost: \(host)\r\nCookie: \(cookie)\r\n\r\n".utf8)
    let open = try (0..<ChangeStreams.limit).map { _ in
      let client = try TestClient(port: port)
      client.send(request)
      _ = try client.text(until: "data: changed")
      return client
    }
    let busy = try TestClient(port: port).request(
      "GET", "/changes", host: host, token: nil, headers: ["Cookie: \(cookie)"])
    #expect(busy.status == 503 && open.count == ChangeStreams.limit)
  }

  @Test("behind a reverse proxy, the group can open the socket, and there is no link")
  func proxy() async throws {
    let test = try await TestStore()
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("web-\(UUID().uuidString)").path
    let (process, output) = try web(
      test.connection, ["--tenant", "shop", "--listen", path, "--user-header", "Remote-User"])
    defer { process.terminate() }
    #expect(try line(output) == "Listening on \(path)\n")
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o660)
  }

  @Test("an unknown name, a place that is not loopback, and a port for a reverse proxy are refused")
  func refused() async throws {
    let test = try await TestStore()
    for (arguments, status) in [
      (["--tenant", "none"], 1), (["--tenant", "shop", "--listen", "0.0.0.0:1"], 2),
      (["--tenant", "shop", "--user-header", "Remote-User"], 2),
      (["--tenant", "shop", "--user-header", "Remote User", "--listen", "/nowhere/socket"], 2),
    ] {
      let (process, output) = try web(test.connection, arguments)
      #expect(try output.fileHandleForReading.readToEnd() ?? Data() == Data())
      process.waitUntilExit()
      #expect(process.terminationStatus == Int32(status))
    }
  }
}
