import CrashClient
import CrashProtocol
import CrashReport
import Glibc
import Synchronization
import TestKit
import Testing

@testable import crash_forward

@Suite("SinkRunner")
struct SinkRunnerTests {
  /// A simulated crashd that sends the given events.
  ///
  /// Each new subscription begins with the first event that no subscriber has acknowledged.
  final class Crashd: Sendable {
    let daemon: FakeDaemon

    /// `answer` returns true if it has answered the subscription itself.
    ///
    /// The daemon calls `acknowledged` with each cursor that a subscriber acknowledges.
    init(
      _ events: [(cursor: String, id: String)],
      answer: @escaping @Sendable (FakeConnection, String) -> Bool = { _, _ in false },
      acknowledged: @escaping @Sendable (String) -> Void
    ) throws {
      let log = SharedLog()
      self.log = log
      daemon = try FakeDaemon { connection in
        guard let call = connection.call() else { return }
        log.add(call)
        if call.contains("Crashd.Ack") {
          let cursor = events.last { call.contains(#""cursor":"\#($0.cursor)""#) }?.cursor ?? ""
          connection.reply(#"{"cursor":"\#(cursor)"}"#)
          return acknowledged(cursor)
        }
        if answer(connection, call) { return }
        let seen = log.calls.count { $0.contains("Crashd.Ack") }
        connection.reply(#"{"ready":true}"#, continues: true)
        for event in events.dropFirst(seen) {
          connection.reply(
            #"{"cursor":"\#(event.cursor)","report":\#(SampleJSON.report(id: event.id))}"#, continues: true)
        }
        connection.waitForHangup()
      }
    }

    private let log: SharedLog
    var all: [String] { log.calls }
  }

  final class SharedLog: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var calls: [String] { lines.withLock { $0 } }
  }

  /// A sink that returns the listed results of deliveries in order, and then repeats the last one.
  ///
  /// It logs the events that it receives.
  struct Script: Sink {
    let name = "script"
    let got = SharedLog()
    let answers: [Delivery]

    func deliver(_ event: SinkEvent) -> Delivery {
      got.add(event.report.id)
      return answers[min(got.calls.count, answers.count) - 1]
    }
  }

  /// Runs the sink until crashd has received the acknowledgment of the cursor `last`.
  ///
  /// Returns the simulated crashd, the counts, the log lines and the waits.
  private func run(
    _ sink: any Sink, _ events: [(cursor: String, id: String)], until last: String, perMinute: Int = 60_000,
    limitBytes: Int = 64 << 20, timePasses: Bool = false,
    answer: @escaping @Sendable (FakeConnection, String) -> Bool = { _, _ in false }
  ) throws -> (crashd: Crashd, counts: SinkCounts, log: [String], waits: [Duration]) {
    let stop = try StopSignal()
    let crashd = try Crashd(events, answer: answer) { if $0 == last { stop.stop() } }
    defer { crashd.daemon.stop() }
    let (log, board, waits) = (SharedLog(), SinkBoard(), Waits())
    var around = SinkRunner.Surroundings(
      client: CrashClient(socketPath: crashd.daemon.socketPath, messageLimitBytes: limitBytes), stop: stop,
      board: board,
      log: SinkLog { level, text in log.add("\(level): \(text)") })
    // The runner does not really wait: the test only records each wait. Its clock stands still, or advances by each
    // wait.
    let start = ContinuousClock.now
    around.now = { timePasses ? waits.all.reduce(start, +) : start }
    around.wait = { duration in
      waits.add(duration)
      return stop.wait(for: .zero)
    }
    var runner = SinkRunner(
      sink, subscriber: "t.script", filter: "sho", perMinute: perMinute, scrubber: nil, around: around)
    runner.run()
    return (crashd, board.counts(of: "script"), log.calls, waits.all)
  }

  final class Waits: Sendable {
    private let durations = Mutex<[Duration]>([])
    func add(_ duration: Duration) { durations.withLock { $0.append(duration) } }
    var all: [Duration] { durations.withLock { $0 } }
  }

  @Test("delivered events are acknowledged one by one, in order")
  func inOrder() throws {
    let sink = Script(answers: [.delivered])
    let result = try run(sink, [("c1", "a1"), ("c2", "a2"), ("c3", "a3")], until: "c3")
    #expect(sink.got.calls == ["a1", "a2", "a3"])
    #expect(result.counts == SinkCounts(delivered: 3))
    let acknowledged = result.crashd.all.filter { $0.contains("Crashd.Ack") }
    #expect(acknowledged.count == 3)
    #expect(acknowledged.allSatisfy { $0.contains(#""subscriber":"t.script""#) })
    let subscription = try #require(result.crashd.all.first)
    #expect(subscription.contains(#""subscriber":"t.script""#) && subscription.contains(#""name":"sho""#))
  }

  @Test("a deferred event is retried before the next one, and acknowledged only when it is delivered")
  func later() throws {
    let sink = Script(answers: [.later("busy"), .later("busy", after: .seconds(90)), .delivered])
    let result = try run(sink, [("c1", "a1"), ("c2", "a2")], until: "c2")
    #expect(sink.got.calls == ["a1", "a1", "a1", "a2"])
    #expect(result.counts == SinkCounts(delivered: 2, retries: 2))
    #expect(result.waits.count == 2)
    #expect((.milliseconds(125)...(.milliseconds(250))).contains(result.waits[0]))
    #expect(result.waits[1] == .seconds(90))
    // A repeated failure causes one log line when it begins, and one when it ends.
    #expect(result.log == ["warning: script: waiting: busy", "notice: script: recovered"])
  }

  @Test("an event that the sink permanently refuses is dropped, counted and logged, and the next one is sent")
  func refused() throws {
    let sink = Script(answers: [.refused("413"), .delivered])
    let result = try run(sink, [("c1", "a1"), ("c2", "a2")], until: "c2")
    #expect(sink.got.calls == ["a1", "a2"])
    #expect(result.counts == SinkCounts(delivered: 1, refused: 1))
    #expect(result.log == ["error: script: dropped report a1: 413"])
  }

  @Test("an event that a server defers for an hour is dropped by id, and the next one is sent")
  func givenUp() throws {
    let sink = Refusing(id: "a1", delivery: .later("h answers 500", maybeNever: true))
    let result = try run(sink, [("c1", "a1"), ("c2", "a2")], until: "c2", timePasses: true)
    #expect(result.counts == SinkCounts(delivered: 1, refused: 1, retries: result.waits.count))
    let hour = Duration.seconds(3_600)
    let waited = result.waits.reduce(.zero, +)
    #expect(waited >= hour && waited < hour + .seconds(61))
    #expect(sink.got.calls.suffix(2) == ["a1", "a2"])
    #expect(
      result.log == [
        "warning: script: waiting: h answers 500",
        "error: script: dropped report a1: tried \(result.waits.count + 1) times: h answers 500",
      ])
  }

  @Test("a sink runner retries an event as long as the server is unreachable")
  func notGivenUp() throws {
    let tries = 2_000
    let sink = Script(answers: Array(repeating: .later("h: no route"), count: tries) + [.delivered])
    let result = try run(sink, [("c1", "a1")], until: "c1", timePasses: true)
    #expect(result.waits.reduce(.zero, +) > .seconds(3_600 * 10))
    #expect(result.counts == SinkCounts(delivered: 1, retries: tries))
  }

  /// A sink that answers the event `id` with `delivery`, and accepts all other events.
  struct Refusing: Sink {
    let name = "script"
    let id: String
    let delivery: Delivery
    let got = SharedLog()

    func deliver(_ event: SinkEvent) -> Delivery {
      got.add(event.report.id)
      return event.report.id == id ? delivery : .delivered
    }
  }

  @Test("an unreadable event is skipped by its cursor, counted and logged once, and the next one is sent")
  func unreadable() throws {
    let sink = Script(answers: [.delivered])
    let result = try run(sink, [("c1", "a1"), ("c2", "a2")], until: "c2") { connection, call in
      connection.reply(#"{"ready":true}"#, continues: true)
      connection.reply(#"{"cursor":"c1","report":{"id":"hidden","time":7}}"#, continues: true)
      connection.reply(#"{"cursor":"c2","report":\#(SampleJSON.report(id: "a2"))}"#, continues: true)
      connection.waitForHangup()
      return true
    }
    #expect(sink.got.calls == ["a2"])
    #expect(result.counts == SinkCounts(delivered: 1, refused: 1))
    #expect(result.log == ["error: script: dropped report behind cursor c1: cannot read crashd's message"])
    #expect(result.waits.isEmpty)
    #expect(result.crashd.all.count { $0.contains("Crashd.Ack") } == 2)
  }

  @Test("an event that is too large is dropped over a new connection")
  func tooLarge() throws {
    let sink = Script(answers: [.delivered])
    let connections = SharedLog()
    let result = try run(sink, [("c1", "a1"), ("c2", "a2")], until: "c2", limitBytes: 64 << 10) { connection, call in
      connections.add(call)
      guard connections.calls.count == 1 else { return false }
      connection.reply(#"{"ready":true}"#, continues: true)
      let note = String(repeating: "x", count: 1 << 20)
      connection.reply(#"{"cursor":"c1","report":{"id":"a1","cursor":"no","note":"\#(note)"}}"#, continues: true)
      return true
    }
    #expect(sink.got.calls == ["a2"])
    #expect(result.counts == SinkCounts(delivered: 1, refused: 1))
    #expect(
      result.log == ["error: script: dropped report behind cursor c1: crashd's message is longer than 64 KiB"])
  }

  @Test("a sink runner retries an unreadable event with back-off, and logs it once")
  func inTheWay() throws {
    let sink = Script(answers: [.delivered])
    let tries = SharedLog()
    let result = try run(sink, [("c1", "a1")], until: "c1") { connection, call in
      tries.add(call)
      guard tries.calls.count <= 12 else { return false }
      connection.reply(#"{"ready":true}"#, continues: true)
      connection.reply(#"{"report":{"id":"hidden"}}"#, continues: true)
      return true
    }
    #expect(result.waits.count == 12)
    #expect(result.waits.suffix(3).allSatisfy { $0 >= .seconds(30) })
    #expect(
      result.log == ["warning: script: waiting: cannot read crashd's message", "notice: script: recovered"])
    #expect(result.counts == SinkCounts(delivered: 1))
  }

  @Test("a crash is sent once, even if its event arrives again with the same group")
  func repeated() throws {
    let sink = Script(answers: [.delivered])
    let result = try run(sink, [("c1", "a1"), ("c2", "a1"), ("c3", "a2")], until: "c3")
    #expect(sink.got.calls == ["a1", "a2"])
    #expect(result.counts == SinkCounts(delivered: 2, repeated: 1))
  }

  @Test("after crashd has closed the stream, a sink runner resumes after the acknowledged events")
  func closed() throws {
    let sink = Script(answers: [.delivered])
    let connections = SharedLog()
    let result = try run(sink, [("c1", "a1"), ("c2", "a2")], until: "c2") { connection, call in
      connections.add(call)
      guard connections.calls.count == 1 else { return false }
      connection.reply(#"{"ready":true}"#, continues: true)
      connection.reply(#"{"cursor":"c1","report":\#(SampleJSON.report(id: "a1"))}"#, continues: true)
      return true
    }
    #expect(sink.got.calls == ["a1", "a2"])
    #expect(connections.calls.count == 2)
    #expect(result.counts == SinkCounts(delivered: 2))
    #expect(result.waits.count == 1)
  }

  @Test("events that retention removed are counted and logged, and the remaining ones are sent")
  func expired() throws {
    let sink = Script(answers: [.delivered])
    let result = try run(sink, [("c1", "a1")], until: "c1") { connection, call in
      if call.contains(#""expired":true"#) { return false }
      connection.reply(#"{"lost":7,"exact":true}"#, error: "io.crashshield.Crashd.CursorExpired")
      return true
    }
    #expect(sink.got.calls == ["a1"])
    #expect(result.counts == SinkCounts(delivered: 1, lost: 7))
    #expect(result.log == ["error: script: 7 reports were removed before they were sent; the remaining ones follow"])
  }

  @Test("events that exceed the rate limit are delayed")
  func pace() throws {
    let sink = Script(answers: [.delivered])
    let events = (1...4).map { (cursor: "c\($0)", id: "a\($0)") }
    let result = try run(sink, events, until: "c4", perMinute: 12)
    #expect(result.counts.delivered == 4)
    // The rate limit allows a burst of two events, and then one event per five seconds. The fourth event waits for ten
    // seconds, because the clock of the test stands still.
    #expect(result.waits == [.seconds(5), .seconds(10)])
  }

  @Test("a stop signal ends the wait for an event that cannot be sent")
  func stopped() throws {
    let stop = try StopSignal()
    let crashd = try Crashd([("c1", "a1")]) { _ in }
    defer { crashd.daemon.stop() }
    let sink = Stopping(stop: stop)
    var runner = SinkRunner(
      sink, subscriber: "t", perMinute: 1, scrubber: nil,
      around: .init(
        client: CrashClient(socketPath: crashd.daemon.socketPath), stop: stop, board: SinkBoard(),
        log: SinkLog { _, _ in }))
    runner.run()
    #expect(!crashd.all.contains { $0.contains("Crashd.Ack") })
  }

  struct Stopping: Sink {
    let name = "stopping"
    let stop: StopSignal

    func deliver(_ event: SinkEvent) -> Delivery {
      stop.stop()
      return .later("for ever", after: .seconds(3_600))
    }
  }

  @Test("a sink runner logs that crashd is back without waiting for an event")
  func reachable() throws {
    let (stop, log) = (try StopSignal(), SharedLog())
    let crashd = try Crashd([]) { _ in }
    defer { crashd.daemon.stop() }
    let link = crashd.daemon.socketPath + "-later"
    // Invariant: both paths are read only during the calls.
    defer { unsafe unlink(link) }
    var around = SinkRunner.Surroundings(
      client: CrashClient(socketPath: link), stop: stop, board: SinkBoard(),
      log: SinkLog { level, text in
        log.add("\(level): \(text)")
        if text.hasSuffix("recovered") { stop.stop() }
      })
    around.wait = { _ in unsafe symlink(crashd.daemon.socketPath, link) != 0 }
    var runner = SinkRunner(
      Script(answers: [.delivered]), subscriber: "t", perMinute: 1, scrubber: nil, around: around)
    runner.run()
    #expect(log.calls.last == "notice: script: recovered" && log.calls.count == 2)
  }

  @Test("a sink runner logs an unreachable crashd once, and retries")
  func unreachable() throws {
    let (stop, log, waits) = (try StopSignal(), SharedLog(), Waits())
    var around = SinkRunner.Surroundings(
      client: CrashClient(socketPath: "/nonexistent/crashd"), stop: stop, board: SinkBoard(),
      log: SinkLog { level, text in log.add("\(level): \(text)") })
    around.wait = { duration in
      waits.add(duration)
      return waits.all.count == 3
    }
    var runner = SinkRunner(
      Script(answers: [.delivered]), subscriber: "t", perMinute: 1, scrubber: nil, around: around)
    runner.run()
    #expect(waits.all.count == 3)
    #expect(
      log.calls == [
        "warning: script: waiting: cannot reach crashd at '/nonexistent/crashd': No such file or directory"
      ])
  }
}
