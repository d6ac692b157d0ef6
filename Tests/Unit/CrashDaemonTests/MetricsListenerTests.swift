import CrashReport
import CrashSettings
import CrashStore
import Glibc
import LinuxSystem
import Synchronization
import Testing

@testable import CrashDaemon

@Suite("MetricsListener")
struct MetricsListenerTests {
  /// Runs a daemon whose metrics can be scraped at a port that the kernel chooses.
  private func withListener(
    limits: Limits = .patient, _ body: @escaping @Sendable (UInt16, TestDaemon) throws -> Void
  ) async throws {
    try await TestDaemon.run(limits: limits, configure: { $0.settings.metricsListen = "127.0.0.1:0" }) { daemon in
      // Wait until crashd has bound the port. Each iteration yields, because crashd's tasks run on the same threads.
      var port: UInt16?
      while port == nil {
        await Task.yield()
        port =
          daemon.log.lines.lazy.compactMap { line in
            line.firstRange(of: "serving metrics at http://127.0.0.1:").flatMap { found in
              UInt16(line[found.upperBound...].prefix(while: \.isNumber))
            }
          }.first
      }
      let found = try #require(port)
      try await onThread { try body(found, daemon) }
    }
  }

  @Test("a scrape gets the output of crashctl metrics, as OpenMetrics, and then the connection ends")
  func scrape() async throws {
    try await withListener { port, daemon in
      _ = try daemon.store.put(.sample(id: "aa"), raw: [])
      let answer = try TestScraper.answer(port, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
      #expect(answer.contains("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"))
      let user = "uid=\"\(geteuid())\""
      #expect(answer.contains("crashd_crashes_total{\(user),program=\"shop\",unit=\"\",signal=\"SIGSEGV\",cause="))
      #expect(answer.hasSuffix("# EOF\n"))
      let head = try TestScraper.answer(port, "HEAD /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n") && head.hasSuffix("\r\n\r\n"))
    }
  }

  @Test(
    "requests for other paths or methods get no metrics, and malformed requests get an error",
    arguments: [
      ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404 "),
      ("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 405 "),
      ("\u{16}\u{3}\u{1}\r\n\r\n", "HTTP/1.1 400 "),
    ])
  func refused(request: String, status: String) async throws {
    try await withListener { port, _ in
      let answer = try TestScraper.answer(port, request)
      #expect(answer.hasPrefix(status) && !answer.contains("crashd_"))
    }
  }

  @Test("a request above the size limit ends the connection without an answer")
  func long() async throws {
    try await withListener { port, _ in
      let header = "X: " + String(repeating: "x", count: MetricsScrapes.requestLimitBytes)
      let answer = try TestScraper.answer(port, "GET /metrics HTTP/1.1\r\n\(header)\r\n\r\n")
      #expect(answer.isEmpty)
    }
  }

  @Test("connections beyond the limit end at once; when others have ended, new ones are served")
  func connections() async throws {
    try await withListener { port, _ in
      var open: [Descriptor] = []
      for _ in 0..<MetricsScrapes.connectionLimit { open.append(try TestScraper.connect(port)) }
      // Until crashd's event loop has counted all open connections, crashd still answers a further one.
      var answer = "not refused yet"
      while !answer.isEmpty { answer = try TestScraper.answer(port, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n") }
      open.removeAll()
      while answer.isEmpty { answer = try TestScraper.answer(port, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n") }
      #expect(answer.hasPrefix("HTTP/1.1 200 "))
    }
  }

  @Test("a connection without a request ends after limits.reader-timeout")
  func silent() async throws {
    var limits = Limits.patient
    limits.write_ms = 50
    try await withListener(limits: limits) { port, _ in
      let connection = try TestScraper.connect(port)
      let answer = try TestScraper.rest(of: connection)
      #expect(answer.isEmpty)
    }
  }

  @Test("if the address of the metrics listener is in use, crashd binds it as soon as it is free")
  func retry() async throws {
    let other = Mutex<(descriptor: Descriptor, port: UInt16)?>(try TestScraper.listen())
    let port = try #require(other.withLock { $0?.port })
    let place = "127.0.0.1:\(port)"
    try await TestDaemon.run(configure: { $0.settings.metricsListen = place }) { daemon in
      while !daemon.log.lines.contains(where: { $0.contains("cannot serve metrics") }) { await Task.yield() }
      other.withLock { $0 = nil }
      while !daemon.log.lines.contains(where: { $0.contains("serving metrics at http://\(place)") }) {
        await Task.yield()
      }
      let answer = try await onThread { try TestScraper.answer(port, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n") }
      #expect(answer.hasPrefix("HTTP/1.1 200 "))
    }
  }

  private final class Counts: Sendable {
    let made = Atomic(0)
    let now_s = Atomic<UInt64>(1)
  }

  @Test("scrapes share one metrics text during its production and for a second afterwards")
  func slow() async {
    let counts = Counts()
    let (gate, open) = AsyncStream<Void>.makeStream()
    let (begun, begin) = AsyncStream<Void>.makeStream()
    let scrapes = MetricsScrapes(
      limit_ms: 1_000, now_ns: { counts.now_s.load(ordering: .relaxed) * 1_000_000_000 },
      make: {
        counts.made.add(1, ordering: .relaxed)
        begin.yield()
        for await _ in gate { break }
        return "text"
      })
    async let first = scrapes.text()
    for await _ in begun { break }
    counts.now_s.store(5, ordering: .relaxed)
    async let second = scrapes.text()
    open.finish()
    let answers = await [first, second]
    #expect(answers == ["text", "text"] && counts.made.load(ordering: .relaxed) == 1)
    counts.now_s.store(7, ordering: .relaxed)
    _ = await scrapes.text()
    #expect(counts.made.load(ordering: .relaxed) == 2)
  }

  @Test(
    "metrics.listen takes loopback only, metrics.listen-exposed any numeric address; both name the key in errors",
    arguments: [
      ("127.0.0.1:9779", true, true), ("127.3.2.1:1", true, true), ("[::1]:9779", true, true),
      ("10.0.0.5:9779", false, true), ("0.0.0.0:9779", false, true), ("[::]:9779", false, true),
      ("localhost:9779", false, false), ("127.0.0.1", false, false), ("127.0.0.1:65536", false, false),
      ("::1:9779", false, false), ("", false, false), ("127.0.0.1:-1", false, false), ("127.1:9779", false, false),
    ])
  func addresses(text: String, isLoopback: Bool, isAddress: Bool) {
    for (key, isTaken) in [("metrics.listen", isLoopback), ("metrics.listen-exposed", isAddress)] {
      var reader = SettingsReader()
      do throws(SettingsError) {
        try reader.read(argument: "\(key)=\(text)")
        #expect(isTaken, "\(key)=\(text)")
      } catch {
        #expect(!isTaken && error.description.contains("\(key) takes "), "\(error)")
      }
    }
  }
}
