import CrashClient
import CrashProtocol
import CrashReport
import Foundation
import Glibc
import Testing

@testable import CrashPages
@testable import crash_web

/// Runs crash-web with a real crashd from the root package.
@Suite("crash-web, end to end")
struct EndToEndTests {
  /// A private crashd that has one crash.
  ///
  /// It runs until the test closes its standard input.
  private static func machine() throws -> (crashd: LiveProgram, socket: String) {
    let maker = LiveProgram.binaries.appendingPathComponent("crash-maker").path
    let script = #""$0" array-index --wait-attached & p=$!; wait $p; echo "place $p $CRASHSHIELD_SOCKET"; read x"#
    let crashd = try LiveProgram(
      LiveProgram.binaries.appendingPathComponent("crashctl"), ["run", "--", "/bin/sh", "-c", script, maker])
    while let line = crashd.line() {
      let words = line.split(separator: " ")
      guard words.count == 3, words[0] == "place", let pid = Int(words[1]) else { continue }
      let folder = URL(fileURLWithPath: String(words[2])).deletingLastPathComponent()
      let socket = folder.appendingPathComponent("io.crashshield.Crashd").path
      let outcome = try CrashClient(socketPath: socket).awaitProcess(pid, timeout: .seconds(120))
      try #require(outcome.reports.count == 1)
      return (crashd, socket)
    }
    throw CocoaError(.fileReadUnknown)
  }

  private static let program = LiveProgram.own.appendingPathComponent("crash-web")

  @Test("the pages show a crash of crashd, answer only to the session and to loopback, and report crashd's end")
  func pages() throws {
    let (crashd, socket) = try Self.machine()
    let web = try LiveProgram(Self.program, ["--socket", socket])
    let link = try #require(web.line()?.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)(\/login\?token=[0-9a-f]{64})/))
    let port = try #require(UInt16(link.1))

    #expect(try HTTPProbe(port: port, "/issues").status == 401)
    #expect(try HTTPProbe(port: port, String(link.2), host: "evil.example:\(port)").status == 403)
    let login = try HTTPProbe(port: port, String(link.2))
    #expect(login.status == 303)
    #expect(try HTTPProbe(port: port, String(link.2)).status == 403)
    let cookie = "Cookie: \(try #require(login.headers["set-cookie"]).prefix { $0 != ";" })"
    let get = { (path: String) in try HTTPProbe(port: port, path, headers: [cookie]) }

    let issues = try get("/issues")
    #expect(issues.status == 200 && issues.body.contains("Index out of range"))
    let twin = try JSONSerialization.jsonObject(with: Data(try get("/issues.json").body.utf8)) as? [String: Any]
    let issue = try #require((twin?["rows"] as? [[String: Any]])?.first?["issue"] as? [String: Any])
    let (key, event) = (try #require(issue["key"] as? String), try #require(issue["newestEvent"] as? String))
    #expect((issue["sentence"] as? String)?.contains("Index out of range") == true)
    for path in RenderingTests.lists + ["/issues/\(key)", "/events/\(event)"] {
      let page = try get(path)
      #expect(page.status == 200 && Markup(page.body).complaints.isEmpty, "\(path)")
      #expect(try get(path + ".json").status == 200, "\(path)")
    }
    let hours = try JSONSerialization.jsonObject(with: Data(try get("/timeline.json").body.utf8)) as? [String: Any]
    let points = (hours?["crashes"] as? [String: Any])?["points"] as? [[String: Any]]
    #expect(points?.compactMap { $0["count"] as? Int }.reduce(0, +) == 1)
    #expect(try get("/events/\(event)").body.contains("<h2>Details</h2>"))
    #expect(try get("/issues?q=out+range").body.contains("Index out of range"))
    #expect(try get("/issues?q=program:nothing").body.contains("No issue matches"))
    #expect(try get("/issues?q=bad:x").body.contains("No issue matches"))
    #expect(try get("/issues?q=build:x").status == 400)
    #expect(try get("/issues/ffffffffffffffff").status == 404 && get("/events/ffffffff").status == 404)
    #expect(try get("/events?page=zz").status == 400 && get("/issues?page=-1").status == 400)
    #expect(try HTTPProbe(port: port, "/issues", host: "evil.example", headers: [cookie]).status == 403)

    try crashd.end()
    let gone = try get("/issues")
    #expect(gone.status == 503 && gone.body.contains("crashd does not answer"))
    #expect(Markup(gone.body).complaints.isEmpty)
    #expect(web.terminate() == 0)
  }

  @Test("a Unix socket belongs to the user alone, is not taken from a running program, and goes at the end")
  func unixSocket() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("web-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { do { try FileManager.default.removeItem(at: folder) } catch {} }
    let path = folder.appendingPathComponent("web").path
    for _ in 0..<2 {
      let web = try LiveProgram(Self.program, ["--socket", "/nowhere", "--listen", path])
      #expect(web.line() == "Listening on \(path)")
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode == 0o600)
      #expect(try LiveProgram(Self.program, ["--listen", path]).status() != 0)
      #expect(web.terminate() == 0 && !FileManager.default.fileExists(atPath: path))
    }
    try Data("x".utf8).write(to: URL(fileURLWithPath: path))
    #expect(try LiveProgram(Self.program, ["--listen", path]).status() != 0)
    #expect(FileManager.default.fileExists(atPath: path))
  }

  @Test("a server removes only the file of the socket that it has bound")
  func socketFile() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("file-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { do { try FileManager.default.removeItem(at: folder) } catch {} }
    let path = folder.appendingPathComponent("web").path
    try Data().write(to: URL(fileURLWithPath: path))
    let place = try #require(ListenPlace(path))
    // The bind failed, because another program has bound the path first.
    ListenSocket(place).close()
    #expect(FileManager.default.fileExists(atPath: path))
    let replaced = ListenSocket(place)
    replaced.opened()
    // Replace the file by another one with the same name.
    try Data().write(to: URL(fileURLWithPath: path), options: .atomic)
    replaced.close()
    #expect(FileManager.default.fileExists(atPath: path))
    let own = ListenSocket(place)
    own.opened()
    own.close()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("only loopback and Unix sockets are places to listen on")
  func places() {
    #expect(ListenPlace("8080") == .port(host: "127.0.0.1", port: 8080))
    #expect(ListenPlace("[::1]:0") == .port(host: "::1", port: 0))
    #expect(ListenPlace("localhost:1") == .port(host: "127.0.0.1", port: 1))
    #expect(ListenPlace("./a") == .socket(path: "./a"))
    for text in [
      "", "x", "0.0.0.0:80", "192.168.0.1:80", "65536", "-1", "[::]:80", "/" + String(repeating: "a", count: 107),
    ] {
      #expect(ListenPlace(text) == nil, "\(text)")
    }
  }
}
