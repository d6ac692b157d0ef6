import CrashProtocol
import Glibc
import LinuxSystem
import Synchronization
import Testing

@testable import crash_forward

@Suite("Back-off and rate limits of sinks")
struct SupportTests {
  @Test("a sink's back-off doubles up to a minute, and resets after a success")
  func backoff() {
    var backoff = Backoff()
    let longest = (0..<10).map { _ in backoff.delay(random: \.upperBound) }
    #expect(longest.prefix(4) == [.milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2)])
    #expect(longest.last == .seconds(60))
    // The delay is random, in this case from 30 to 60 seconds, so that not all clients retry at the same time.
    #expect(backoff.delay(random: \.lowerBound) == .seconds(30))
    backoff.reset()
    #expect(backoff.delay(random: \.upperBound) == .milliseconds(250))
  }

  @Test("a sink honors Retry-After up to an hour")
  func request() {
    var backoff = Backoff()
    #expect(backoff.delay(atLeast: .seconds(7)) == .seconds(7))
    #expect(backoff.delay(atLeast: .seconds(1_000_000)) == .seconds(3_600))
    #expect(backoff.delay(atLeast: .zero, random: \.upperBound) == .seconds(1))
  }

  @Test("a sink's rate limit allows a burst of ten seconds, then an even rate")
  func pace() {
    var pace = Pace(perMinute: 30)
    let start = ContinuousClock.now
    #expect(
      (0..<7).map { _ in pace.delay(at: start) } == [.zero, .zero, .zero, .zero, .zero, .seconds(2), .seconds(4)])
    // After an idle hour, the burst still has at most five events.
    let later = start + .seconds(3_600)
    #expect((0..<6).map { _ in pace.delay(at: later) } == [.zero, .zero, .zero, .zero, .zero, .seconds(2)])
  }

  @Test(
    "S10: sinks send a freed object's class, and prefer the recorded class to the expected class",
    arguments: [
      (#""expectedClass":"Session""#, "Session"), (#""className":"shop.Session","expectedClass":"A""#, "shop.Session"),
    ])
  func freedClass(members: String, name: String) throws {
    let diagnosis = #""diagnosis":{"cause":"dangling","sentence":"s","rule":"r","confidence":0.9,\#(members)},"#
    let report = try Sample.event(id: "aa11", more: diagnosis).report
    #expect(JournalText.fields(JournalEntry(report, json: nil).bytes)["CRASH_CLASS"] == name)
    #expect(SentryEvent(report: report).json["tags"]?["class"] == .string(name))
    let record = OTLPRecord(report: report).json["resourceLogs"]?.first?["scopeLogs"]?.first?["logRecords"]?.first
    #expect(record?["attributes"]?.attributes?["crash.class"] == name)
    let plain = try Sample.event(id: "aa11").report
    #expect(JournalText.fields(JournalEntry(plain, json: nil).bytes)["CRASH_CLASS"] == nil)
  }

  @Test("the duplicate filter evicts the oldest crash first")
  func recent() throws {
    var recent = RecentEvents(limit: 2)
    let keys = try ["a1", "a2", "a3"].map { RecentEvents.Key(try Sample.event(id: $0).report) }
    for key in [keys[0], keys[1], keys[0], keys[2]] { recent.insert(key) }
    #expect(keys.map { recent.contains($0) } == [false, true, true])
  }

  @Test("log lines and status texts are one line, even if a server's answer has line breaks")
  func oneLine() {
    let lines = Mutex<[String]>([])
    let words = "a\r\nSTATUS=b\n<0>c\u{1b}[2J\u{2028}d"
    SinkLog { _, text in lines.withLock { $0.append(text) } }(.error, words)
    SinkBoard { text in lines.withLock { $0.append(text) } }.change("s") { $0.failure = words }
    let clean = "a␍␊STATUS=b␊<0>c␛[2J\u{fffd}d"
    #expect(lines.withLock { $0 } == [clean, "s: 0 sent, waiting: \(clean)"])
  }

  @Test("a stop signal ends a wait even if the socket's descriptor was copied, and may arrive twice")
  func stopSignal() throws {
    let stop = try StopSignal()
    // The copy stands for a descriptor that a child process has inherited.
    let copy = fcntl(stop.writer.number, F_DUPFD_CLOEXEC, 0)
    try #require(copy >= 0)
    defer { close(copy) }
    #expect(!stop.wait(for: .zero))
    stop.stop()
    stop.stop()
    #expect(stop.wait(for: .zero))
  }

  @Test("a sink's status line has the sent count and the current error")
  func board() {
    let board = SinkBoard()
    board.change("b") { $0.delivered = 3 }
    board.change("a") {
      $0.refused = 1
      $0.failure = "it rains"
    }
    #expect(board.counts(of: "b").text("b") == "b: 3 sent")
    #expect(board.counts(of: "a").text("a") == "a: 0 sent, 1 refused, waiting: it rains")
  }
}
