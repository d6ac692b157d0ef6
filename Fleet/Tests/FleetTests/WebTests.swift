import Foundation
import Testing

/// `crash-fleet web`, as an operator starts it.
@Suite("crash-fleet web")
struct WebTests {
  /// Starts the command, and returns it with its standard output.
  private func web(_ connection: String, _ arguments: [String]) throws -> (process: Process, output: Pipe) {
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: FleetProcess.program)
    process.arguments = ["web", "--config", "/dev/null"] + arguments
    process.environment = ["CRASH_FLEET_DATABASE_CONNECTION": connection]
    (process.standardOutput, process.standardError) = (output, FileHandle.nullDevice)
    try process.run()
    return (process, output)
  }

  @Test("the pages answer only to the session of the link, on loopback")
  func pages() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([Sample.report(1)])
    let (process, output) = try web(test.connection, ["--tenant", "shop"])
    defer { process.terminate() }
    var text = ""
    while !text.contains("\n") {
      let more = output.fileHandleForReading.availableData
      try #require(!more.isEmpty)
      text += String(decoding: more, as: UTF8.self)
    }
    let link = try #require(text.firstMatch(of: /http:\/\/(127\.0\.0\.1:(\d+))(\/login\?token=[0-9a-f]{64})/))
    let (host, port, login) = (String(link.1), try #require(Int(link.2)), String(link.3))
    func get(_ path: String, _ headers: [String] = []) throws -> TestClient.Answer {
      try TestClient(port: port).request("GET", path, host: host, token: nil, headers: headers)
    }
    #expect(try get("/issues").status == 401)
    let opened = try get(login)
    let cookie = try #require(opened.head.firstMatch(of: /(?i)set-cookie: ([^;]*)/))
    #expect(opened.status == 303)
    #expect(try get(login).status == 403)
    let issues = try get("/issues", ["Cookie: \(cookie.1)"])
    #expect(issues.status == 200 && issues.body.contains("title of a1"))
    #expect(try get("/issues", ["Cookie: \(cookie.1)", "Origin: http://evil.example"]).status == 403)
    #expect(try TestClient(port: port).request("GET", "/issues", host: "evil.example", token: nil).status == 403)
  }

  @Test("an unknown name and a place that is not loopback are refused")
  func refused() async throws {
    let test = try await TestStore()
    for (arguments, status) in [(["--tenant", "none"], 1), (["--tenant", "shop", "--listen", "0.0.0.0:1"], 2)] {
      let (process, output) = try web(test.connection, arguments)
      #expect(try output.fileHandleForReading.readToEnd() ?? Data() == Data())
      process.waitUntilExit()
      #expect(process.terminationStatus == Int32(status))
    }
  }
}
