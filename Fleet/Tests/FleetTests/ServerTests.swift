import FleetStore
import Foundation
import Testing

@Suite("Server")
struct ServerTests {
  @Test("a batch is acknowledged after its commit, and each refused item is named")
  func batch() async throws {
    let fleet = try await FleetProcess()
    let answer = try fleet.post(Sample.line(1) + "\n{\"report\":{}}\n" + Sample.line(2) + "\n" + Sample.line(1))
    #expect(answer.status == 200)
    #expect(answer.body.contains(#""committed":true,"items":{"duplicate":1,"refused":1,"stored":2}"#))
    #expect(answer.body.contains(#"{"item":1,"code":"missing-field","message":"the field 'report.id' is missing"}"#))
    #expect(try fleet.test.hasSum(2))
    let metrics = try TestClient(port: fleet.port).request("GET", "/metrics", token: nil)
    #expect(metrics.body.contains("crash_fleet_items_total{outcome=\"stored\"} 2\n"))
    #expect(metrics.body.contains("crash_fleet_requests_total{result=\"stored\"} 1\n"))
    #expect(try TestClient(port: fleet.port).request("GET", "/healthz", token: nil).status == 200)
  }

  @Test("one connection serves several requests, with plain, gzip and zstd bodies")
  func encodings() async throws {
    let fleet = try await FleetProcess()
    let client = try TestClient(port: fleet.port)
    #expect(try client.request(token: fleet.token, body: Array(Sample.line(1).utf8)).status == 200)
    func lines(_ ids: ClosedRange<Int>) -> [UInt8] { Array(ids.map { Sample.line($0) }.joined(separator: "\n").utf8) }
    let bodies = [("gzip", Compressed.gzip(lines(2...50))), ("zstd", Compressed.zstd(lines(51...100)))]
    for (encoding, body) in bodies {
      let answer = try client.request(token: fleet.token, body: body, headers: ["Content-Encoding: \(encoding)"])
      #expect(answer.status == 200)
    }
    #expect(try fleet.test.hasSum(100))
  }

  @Test("wrong tokens are refused, and a flood of them does not reach the database")
  func tokens() async throws {
    let fleet = try await FleetProcess()
    let wrong = String(fleet.token.dropLast()) + (fleet.token.last == "0" ? "1" : "0")
    for token in [wrong, "", "cft_1_", "cft_99999999999_" + String(repeating: "a", count: 64)] {
      let answer = try fleet.post(Sample.line(1), token: token)
      #expect(answer.status == 401 && answer.code == "unauthorized")
    }
    #expect(try TestClient(port: fleet.port).request(token: nil).status == 401)
    #expect(try fleet.post(Sample.line(1)).status == 200)
    let flood = try (0..<60).map { _ in try fleet.post(Sample.line(2), token: wrong).code }
    #expect(flood.contains("too-many-unknown-tokens"))
    // The flood of unknown tokens does not affect a known token.
    #expect(try fleet.post(Sample.line(3)).status == 200)
    #expect(try fleet.test.query("select count(*) from report") == "2")
  }

  @Test("a revoked token is refused by the next service")
  func revoked() async throws {
    let fleet = try await FleetProcess()
    let token = try await fleet.test.store.addToken(tenant: "shop", name: "old")
    #expect(try await fleet.test.store.revokeToken(token.id))
    #expect(try await !fleet.test.store.revokeToken(token.id))
    #expect(try fleet.post(Sample.line(1), token: token.text).code == "unauthorized")
    #expect(try await fleet.test.store.tokens().last?.revoked != nil)
  }

  @Test("a body of 1 GiB is refused before it is read, with and without its length")
  func hugeBody() async throws {
    let fleet = try await FleetProcess()
    let client = try TestClient(port: fleet.port)
    let head = "POST /v1/reports HTTP/1.1\r\nHost: f\r\nAuthorization: Bearer \(fleet.token)\r\n"
    client.send((head + "Content-Length: 1073741824\r\n\r\n").utf8)
    #expect(try client.answer().code == "body-too-large")
    let chunked = try TestClient(port: fleet.port)
    chunked.send((head + "Transfer-Encoding: chunked\r\n\r\n").utf8)
    let chunk = Array("100000\r\n".utf8) + [UInt8](repeating: 0x20, count: 1 << 20) + Array("\r\n".utf8)
    var sent = 0
    while sent < 1_024, chunked.send(chunk) { sent += 1 }
    // The service closes the connection long before it has received the whole body.
    #expect(sent < 1_024)
    #expect(try fleet.peakBytes() < 512 << 20)
    #expect(try fleet.post(Sample.line(1)).status == 200)
  }

  @Test("large bodies of many clients at once are stored within the memory of the unit")
  func largeBodies() async throws {
    let fleet = try await FleetProcess()
    let head = "POST /v1/reports HTTP/1.1\r\nHost: f\r\nAuthorization: Bearer \(fleet.token)\r\n"
    // These clients send bodies that do not end.
    let unfinished = try (0..<12).map { _ in try TestClient(port: fleet.port) }
    for client in unfinished {
      client.send((head + "Content-Length: \(4 << 20)\r\n\r\n").utf8)
      client.send([UInt8](repeating: 0x20, count: (4 << 20) - 1))
    }
    // Four reports of almost 2 MiB decompress to almost the limit.
    let noise = Self.noise(1_900 << 10)
    let whole = try (0..<12).map { number in
      let lines = (1...4).map { Sample.line(4 * number + $0).replacing("\"17\"", with: "\"\(noise)\"") }
      let body = Compressed.gzip(Array(lines.joined(separator: "\n").utf8))
      let client = try TestClient(port: fleet.port)
      client.send((head + "Content-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n").utf8)
      client.send(body)
      return client
    }
    for client in whole {
      let answer = try client.answer()
      #expect(answer.status == 200 && answer.body.contains(#""items":{"stored":4}"#))
    }
    #expect(try fleet.peakBytes() < 512 << 20)
    #expect(try fleet.test.hasSum(48))
  }

  @Test("a decompression bomb is refused, whatever its ratio, and a damaged body too")
  func bomb() async throws {
    let fleet = try await FleetProcess()
    func send(_ body: [UInt8], _ encoding: String) throws -> TestClient.Answer {
      try TestClient(port: fleet.port)
        .request(token: fleet.token, body: body, headers: ["Content-Encoding: \(encoding)"])
    }
    let spaces = [UInt8](repeating: 0x20, count: 512 << 20)
    for (encoding, compress) in [("gzip", Compressed.gzip), ("zstd", Compressed.zstd)] {
      let bomb = compress(spaces)
      #expect(bomb.count < 4 << 20)
      for body in [bomb, compress(Array(spaces.prefix(1 << 20)))] {
        let answer = try send(body, encoding)
        #expect(answer.status == 413 && answer.code == "body-too-large")
      }
      for body in [Array("plain".utf8), Array(compress(Array(Sample.line(1).utf8)).dropLast(5)), []] {
        let answer = try send(body, encoding)
        #expect(answer.status == 400 && answer.code == "not-\(encoding)")
      }
    }
    let other = try send([1], "br")
    #expect(other.status == 415 && other.code == "unknown-encoding")
    #expect(other.head.lowercased().contains("\r\naccept-encoding: gzip, zstd"))
    #expect(try fleet.peakBytes() < 512 << 20)
    #expect(try fleet.test.query("select count(*) from report") == "0")
  }

  @Test("deep JSON is refused, and the service goes on")
  func deep() async throws {
    let fleet = try await FleetProcess()
    let deep = String(repeating: "[", count: 1 << 20)
    #expect(try fleet.post("[\(deep)").code == "malformed-body")
    let answer = try fleet.post("{\"report\":\(deep)}\n" + Sample.line(1))
    #expect(answer.status == 200 && answer.body.contains("too-deep") == false)
    #expect(answer.body.contains(#""items":{"refused":1,"stored":1}"#))
  }

  @Test("a client that sends one byte at a time is refused after the limit, and delays no other client")
  func slow() async throws {
    let fleet = try await FleetProcess(["CRASH_FLEET_LIMITS_REQUEST_TIME": "1"])
    let slow = try (0..<20).map { _ in try TestClient(port: fleet.port) }
    let head = "POST /v1/reports HTTP/1.1\r\nHost: f\r\nAuthorization: Bearer \(fleet.token)\r\n"
    for client in slow { client.send((head + "Content-Length: 1000\r\n\r\n{").utf8) }
    #expect(try fleet.post(Sample.line(1)).status == 200)
    for client in slow {
      client.send([0x20])
      let answer = try client.answer()
      #expect(answer.status == 408 && answer.code == "too-slow")
    }
    #expect(try fleet.post(Sample.line(2)).status == 200)
    #expect(try fleet.test.query("select count(*) from report") == "2")
  }

  @Test("a health check asks the database once, also if it fails")
  func health() async throws {
    let fleet = try await FleetProcess()
    // A sequence counts the calls, because a rollback does not change it back.
    _ = try fleet.test.query(
      """
      create sequence calls; alter table migration rename to absent;
      create function fail() returns int language plpgsql as
        'begin perform nextval(''calls''); raise serialization_failure; end';
      create view migration as select fail() as version
      """)
    let answer = try TestClient(port: fleet.port).request("GET", "/healthz", token: nil)
    #expect(answer.status == 503 && answer.code == "database")
    #expect(try fleet.test.query("select last_value from calls") == "1")
  }

  @Test("a host asks for its position")
  func position() async throws {
    let fleet = try await FleetProcess()
    let path = "/v1/position?machine=\(Sample.hex(7))&stream=s%40e1"
    #expect(try TestClient(port: fleet.port).request("POST", path, token: fleet.token).body == "{\"cursor\":null}\n")
    let item =
      #"{"position":{"stream":"s@e1","cursor":"e1.9","time":1},"host":{"machine":"\#(Sample.hex(7))","name":"w"}}"#
    #expect(try fleet.post(item).status == 200)
    #expect(
      try TestClient(port: fleet.port).request("POST", path, token: fleet.token).body == "{\"cursor\":\"e1.9\"}\n")
    let wrong = try TestClient(port: fleet.port).request("POST", "/v1/position?machine=7", token: fleet.token)
    #expect(wrong.code == "missing-parameter")
  }

  @Test("a request for a position counts as a request of its tenant")
  func positionLimit() async throws {
    let fleet = try await FleetProcess(["CRASH_FLEET_LIMITS_REQUESTS_OF_TENANT": "1"])
    let head = "POST /v1/reports HTTP/1.1\r\nHost: f\r\nAuthorization: Bearer \(fleet.token)\r\n"
    let path = "/v1/position?machine=\(Sample.hex(7))&stream=s"
    // The test cannot see when the service has read the head of an open request. It therefore opens requests until the
    // request for the position is refused.
    var open: [TestClient] = []
    var code: String?
    while code == nil {
      let client = try TestClient(port: fleet.port)
      client.send((head + "Content-Length: 9\r\n\r\n").utf8)
      open.append(client)
      code = try TestClient(port: fleet.port).request("POST", path, token: fleet.token).code
    }
    #expect(code == "too-many-requests")
    let stored = open.count { client in
      client.send([UInt8](repeating: 0x0a, count: 9))
      // The service has closed the connections of refused requests.
      return (try? client.answer())?.status == 200
    }
    #expect(stored > 0)
    #expect(try TestClient(port: fleet.port).request("POST", path, token: fleet.token).status == 200)
  }

  @Test("settings are checked and printed without the connection string")
  func settings() throws {
    let (status, text) = try FleetProcess.run(["--check-config"], on: "password=xyzzy")
    #expect(status == 0 && text.contains("listen.port: 8320\n") && !text.contains("xyzzy"))
    let bad = try FleetProcess.run(["--check-config"], settings: ["CRASH_FLEET_LISTEN_PORT": "x"])
    #expect(bad.status == 2)
    #expect(bad.output.contains("CRASH_FLEET_LISTEN_PORT: listen.port takes a port from 0 to 65535"))
  }

  @Test("the sample file of the settings is valid, and has every key with its default")
  func sample() throws {
    let check = "'\(FleetProcess.program)' --check-config --config"
    let path = URL(filePath: #filePath).appending(path: "../../../../systemd/crash-fleet.yaml").standardizedFileURL.path
    let defaults = try TestPostgres.run("sh", ["-c", "\(check) /dev/null"])
    #expect(try TestPostgres.run("sh", ["-c", "\(check) '\(path)'"]) == defaults)
    // If the comment marks are removed, the file sets each key to its default.
    let all = "sed -E 's/^( *)#([a-z-]+: )/\\1\\2/; /log-level/d' '\(path)' >\"$file\""
    let command = "file=$(mktemp); \(all); \(check) \"$file\"; status=$?; rm \"$file\"; exit $status"
    #expect(try TestPostgres.run("sh", ["-c", command]) == defaults)
    for key in defaults.split(whereSeparator: \.isNewline) {
      let name = key.prefix { $0 != ":" }.split(separator: ".").last.map(String.init) ?? ""
      let text = try String(contentsOfFile: path, encoding: .utf8)
      #expect(text.contains("#\(name):") || text.contains("#\(name)-file:"), "\(name) is not in the sample")
    }
  }

  /// Text that compresses to about a quarter of its size.
  private static func noise(_ count: Int) -> String {
    var random = SystemRandomNumberGenerator()
    var text = ""
    while text.utf8.count < count { text += String(repeating: String(random.next() as UInt64, radix: 16), count: 3) }
    return String(text.prefix(count))
  }
}
