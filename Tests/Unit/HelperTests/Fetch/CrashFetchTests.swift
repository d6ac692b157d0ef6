import Foundation
import TestKit
import Testing

@Suite("crash-fetch")
struct CrashFetchTests {
  private static let file = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

  private static func reply(_ status: String, _ headers: [String] = [], _ body: [UInt8] = []) -> [UInt8] {
    Array((["HTTP/1.1 \(status)"] + headers + ["Connection: close", "", ""]).joined(separator: "\r\n").utf8) + body
  }

  private static var good: [UInt8] { reply("200 OK", ["Content-Length: \(file.count)"], file) }

  @Test("crash-fetch downloads a build's debug file, and sends no other request")
  func good() async throws {
    let server = try Server(.says(Self.good))
    defer { server.stop() }
    let answer = try await Fetch.run("00ff", from: [server.url + "/prefix"])
    #expect(answer.status == 0 && answer.error.isEmpty, "\(answer)")
    #expect(answer.output == Data(Self.file))
    let request = try #require(server.requests.first).split(separator: "\r\n")
    #expect(request.first == "GET /prefix/buildid/00ff/debuginfo HTTP/1.1")
    #expect(
      request.dropFirst().map { String($0.prefix { $0 != ":" }) }.sorted() == ["Accept", "Host", "User-Agent"])
    #expect(server.requests.count == 1)
  }

  @Test("crash-fetch gets a file from a server that sends no length")
  func noLength() async throws {
    let server = try Server(.says(Self.reply("200 OK", [], Self.file)))
    defer { server.stop() }
    #expect(try await Fetch.run(from: [server.url]).output == Data(Self.file))
  }

  @Test("crash-fetch tries the next server when a server fails or does not have the file")
  func next() async throws {
    let servers = try [
      Server(.says(Self.reply("404 Not Found", ["Content-Length: 2"], [1, 2]))), Server(.says([0, 1, 2, 3])),
      Server(.says(Self.good)), Server(.says(Self.good)),
    ]
    defer { servers.forEach { $0.stop() } }
    let answer = try await Fetch.run(from: servers.map(\.url))
    #expect(answer.status == 0 && answer.output == Data(Self.file))
    #expect(servers.map(\.requests.count) == [1, 1, 1, 0])
  }

  @Test("crash-fetch distinguishes a missing file from a failed download")
  func missing() async throws {
    let empty = try Server(.says(Self.reply("404 Not Found", ["Content-Length: 0"])))
    let broken = try Server(.says(Self.reply("500 Internal Server Error", ["Content-Length: 4"], [1, 2, 3, 4])))
    defer {
      empty.stop()
      broken.stop()
    }
    let denied = try await Fetch.run(from: [empty.url, empty.url])
    #expect(denied.status == 66 && denied.output.isEmpty)
    #expect(denied.error == "crash-fetch: no server has the debug information\n")
    let failed = try await Fetch.run(from: [empty.url, broken.url])
    #expect(failed.status == 69 && failed.output.isEmpty)
    #expect(failed.error == "crash-fetch: \(broken.url): the server answers with status 500\n")
  }

  @Test("crash-fetch times out when a server never answers, or stops within an answer", arguments: [false, true])
  func silent(hasBegun: Bool) async throws {
    let begin = Self.reply("200 OK", ["Content-Length: 1000"], Array(1...100))
    let server = try Server(.saysAndWaits(hasBegun ? begin : []))
    defer { server.stop() }
    let answer = try await Fetch.run(timeout_ms: 300, from: [server.url])
    #expect(answer.status == 69 && answer.output.isEmpty)
    #expect(["timed out", "timeout"].contains(where: answer.error.contains), "\(answer)")
  }

  @Test(
    "crash-fetch rejects malformed and incomplete answers",
    arguments: [
      [], [0, 1, 2, 3], Array("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc".utf8),
      Array("HTTP/1.1 200 OK\r\nContent-Length: -7\r\n\r\nabc".utf8),
      Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc".utf8), Array("\u{7f}ELF".utf8),
    ] as [[UInt8]])
  func garbage(bytes: [UInt8]) async throws {
    let server = try Server(.says(bytes))
    defer { server.stop() }
    let answer = try await Fetch.run(from: [server.url])
    #expect(answer.status == 69 && answer.output.isEmpty, "\(answer)")
    #expect(answer.error.hasPrefix("crash-fetch: \(server.url): ") && answer.error.filter(\.isNewline).count == 1)
  }

  @Test("crash-fetch refuses an answer whose header announces 10 GiB, without reading the body")
  func large() async throws {
    let server = try Server(.saysAndWaits(Self.reply("200 OK", ["Content-Length: \(10 << 30)"])))
    defer { server.stop() }
    let answer = try await Fetch.run(from: [server.url])
    #expect(answer.status == 69 && answer.output.isEmpty)
    #expect(answer.error == "crash-fetch: \(server.url): the file exceeds the size limit\n")
  }

  @Test("crash-fetch stops at its size limit when a server sends endless data")
  func endless() async throws {
    let piece = [UInt8](repeating: 7, count: 65_536)
    let server = try Server(.repeats(Self.reply("200 OK"), piece))
    defer { server.stop() }
    let answer = try await Fetch.run(limitBytes: 1_000_000, from: [server.url])
    #expect(answer.status == 69 && answer.output.isEmpty)
    #expect(answer.error == "crash-fetch: \(server.url): the file exceeds the size limit\n")
    let endlessHeaders = try Server(.repeats(Array("HTTP/1.1 200 OK\r\n".utf8), Array("X: y\r\n".utf8)))
    defer { endlessHeaders.stop() }
    #expect(try await Fetch.run(from: [endlessHeaders.url]).status == 69)
  }

  @Test("crash-fetch does not follow redirects")
  func redirection() async throws {
    let elsewhere = try Server(.says(Self.good))
    let server = try Server(.says(Self.reply("302 Found", ["Location: \(elsewhere.url)/", "Content-Length: 0"])))
    defer {
      server.stop()
      elsewhere.stop()
    }
    let answer = try await Fetch.run(from: [server.url])
    #expect(answer.status == 69 && answer.error.hasSuffix("the server answers with status 302\n"))
    #expect(server.requests.count == 1 && elsewhere.requests.isEmpty)
  }

  @Test(
    "crash-fetch fails for schemes other than HTTP and for unreachable servers",
    arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "no URL", "http://", "http://nowhere.invalid/"])
  func urls(url: String) async throws {
    let answer = try await Fetch.run(from: [url])
    #expect(answer.status == 69 && answer.output.isEmpty)
    #expect(answer.error.hasPrefix("crash-fetch: \(url): "), "\(answer)")
  }

  @Test(
    "crash-fetch prints its usage for wrong arguments",
    arguments: [
      [], ["--build-id", "abcd"], ["--build-id", "../x", "--limit-bytes", "1", "--timeout-ms", "1", "http://h"],
      ["--build-id", "abcd", "--limit-bytes", "0", "--timeout-ms", "1", "http://h"],
      ["--build-id", "abcd", "--limit-bytes", "1", "--timeout-ms", "-1", "http://h"],
      ["--build-id", "abcd", "--limit-bytes", "1", "--timeout-ms", "1"],
    ] as [[String]])
  func usage(arguments: [String]) async throws {
    let answer = try await Fetch.run(TestProgram.url("crash-fetch"), arguments)
    #expect(answer.status == 64 && answer.error.hasPrefix("crash-fetch: usage: "))
  }
}
