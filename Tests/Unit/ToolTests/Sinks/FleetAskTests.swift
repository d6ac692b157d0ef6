import CrashProtocol
import CrashReport
import Synchronization
import Testing

@testable import crash_forward

// An ask is a request of the fleet to this host, in its answer to a batch. These asks request whole reports of groups.
extension FleetRunnerTests {
  private static func committed(asks: String) -> StubServer.Answer {
    StubServer.Answer(body: #"{"committed":true,"items":{"stored":1},"refused":[],"asks":\#(asks)}"#)
  }

  private func answers(_ run: Run) -> [Int] { run.bodies.joined().compactMap { $0["answer"]?["ask"]?.int } }

  @Test("the next crash of a group for which the fleet asked is sent whole, once for each ask")
  func asked() throws {
    let batches = Mutex(0)
    let run = try run(9) { _, _ in
      let number = batches.withLock { count in
        count += 1
        return count
      }
      let asks = (number < 6 ? [7] : [7, 8]).map { #"{"id":\#($0),"report":{"program":"shop","groups":["x","k"]}}"# }
      return number < 4 ? Self.committed(asks: "[]") : Self.committed(asks: "[\(asks.joined(separator: ","))]")
    }
    // Each crash is a batch of its own. The fleet's fourth answer contains the first ask, and its sixth one also the
    // second.
    #expect(run.whole == ["a1", "a2", "a3", "a5", "a7"])
    #expect(answers(run) == [7, 8])
    let batch = try #require(run.bodies.first { $0.contains { $0["answer"] != nil } })
    #expect(batch.first?["report"]?["id"]?.string == "a5")
    #expect(batch[1]["answer"]?["outcome"]?.string == "sent" && batch[1]["host"]?["machine"] != nil)
    #expect(run.log.filter { $0.contains("which the fleet asked for") }.count == 2)
    #expect(run.counts.delivered == 9)
  }

  @Test("a new run does not answer an ask that the fleet has an answer to")
  func answered() throws {
    let asks = #"[{"id":7,"report":{"program":"shop","groups":["k"]}}]"#
    let run = try run(6, answered: "[7]") { _, _ in Self.committed(asks: asks) }
    #expect(run.whole == ["a1", "a2", "a3"] && answers(run).isEmpty)
  }

  @Test("a report that is sent anyway also answers the ask")
  func answeredAnyway() throws {
    let asks = #"[{"id":7,"report":{"program":"shop","groups":["k"]}}]"#
    let run = try run(5) { _, _ in Self.committed(asks: asks) }
    #expect(run.whole == ["a1", "a2", "a3"] && answers(run) == [7])
  }

  @Test(
    "asks of unknown kinds, with wrong types or for other crashes change nothing",
    arguments: [
      #"{"id":7}"#, "7", #"[{"id":7,"memory":{"program":"shop","groups":["k"]}}]"#, #"[{"report":{}},[],null,3,"k"]"#,
      #"[{"id":0,"report":{"program":"shop","groups":["k"]}}]"#,
      #"[{"id":"7","report":{"program":"shop","groups":["k"]}}]"#,
      #"[{"id":7,"report":{"program":"shop","groups":"k"}}]"#, #"[{"id":7,"report":{"program":"shop","groups":[]}}]"#,
      #"[{"id":7,"report":{"program":"mail","groups":["k"]}}]"#,
      #"[{"id":7,"report":{"program":"shop","groups":["other"]}}]"#,
      #"[{"id":7,"report":{"program":"shop\u0007","groups":["k"]}}]"#,
      "[\(String(repeating: "[", count: 20))\(String(repeating: "]", count: 20))]",
    ])
  func strangeAsks(asks: String) throws {
    let run = try run(6) { _, _ in Self.committed(asks: asks) }
    #expect(run.whole == ["a1", "a2", "a3"] && answers(run).isEmpty && run.counts.delivered == 6)
  }

  @Test("of an answer of the fleet, at most eight asks with different ids, and eight groups of each, are used")
  func bounds() throws {
    let keys = (0..<1_000).map { "\"k\($0)\"" }.joined(separator: ",")
    let entries = (1...1_000).map { #"{"id":\#($0),"report":{"program":"shop","groups":[\#(keys)]}}"# }.prefix(40)
    let reply = try #require(JSONValue(parsing: Array("{\"asks\":[\(entries.joined(separator: ","))]}".utf8)))
    let asks = FleetAsk.asks(in: reply)
    #expect(asks.map(\.id) == Array(1...8))
    #expect(asks[0].subject == .report(program: "shop", groups: Set((0..<8).map { "k\($0)" })))
    let twice = (1...2).map { #"{"id":7,"report":{"program":"p\#($0)","groups":["k"]}}"# }.joined(separator: ",")
    let first = FleetAsk.asks(in: JSONValue(parsing: Array("{\"asks\":[\(twice)]}".utf8)))
    #expect(first.map(\.subject) == [.report(program: "p1", groups: ["k"])])
    let long = String(repeating: "x", count: 257)
    let names = [#""program":"\#(long)","groups":["k"]"#, #""program":"shop","groups":["\#(long)"]"#]
    for name in names {
      let reply = JSONValue(parsing: Array(#"{"asks":[{"id":1,"report":{\#(name)}}]}"#.utf8))
      #expect(reply != nil && FleetAsk.asks(in: reply).isEmpty)
    }
  }

  @Test("if the fleet refuses the report, the ask stays open, and the next report answers it")
  func refusedReport() throws {
    let asks = #"[{"id":7,"report":{"program":"shop","groups":["k"]}}]"#
    let run = try run(3) { request, _ in
      String(decoding: request.body, as: UTF8.self).contains("\"id\":\"a2\"")
        ? StubServer.Answer(status: 413, body: #"{"code":"body-too-large","message":"m"}"#)
        : Self.committed(asks: asks)
    }
    let answering = run.bodies.filter { $0.contains { $0["answer"] != nil } }.map { $0[0]["report"]?["id"]?.string }
    // The body with a2 was refused as a whole, so the fleet has no answer yet, and a3 answers again.
    #expect(answering == ["a2", "a3"])
    #expect(run.counts.refused == 1 && run.counts.delivered == 2)
  }

  @Test("if the fleet commits the batch but refuses the report, the next report answers the ask again")
  func committedWithout() throws {
    let asks = #"[{"id":7,"report":{"program":"shop","groups":["k"]}}]"#
    let run = try run(3) { request, _ in
      let isRefused = String(decoding: request.body, as: UTF8.self).contains("\"id\":\"a2\"")
      let refused = isRefused ? #"{"item":0,"code":"missing-field","message":"m"}"# : ""
      return StubServer.Answer(body: #"{"committed":true,"items":{},"refused":[\#(refused)],"asks":\#(asks)}"#)
    }
    #expect(answers(run) == [7, 7] && run.counts.refused == 1)
  }

  @Test("the report for an ask does not exceed the rate limit, and the ask stays open until it is answered")
  func askedRate() throws {
    var policy = FleetPolicy(perMinute: 6)
    let report = try Sample.received(id: "a").report
    let now = ContinuousClock.now
    let sent = (0..<50).filter { _ in policy.sendsWhole(report, isAsked: true, at: now) }
    #expect((1...2).contains(sent.count))
    let isSentLater = policy.sendsWhole(report, isAsked: true, at: now + .seconds(60))
    #expect(isSentLater)
  }

  @Test("the last 256 answered asks are remembered")
  func memory() throws {
    let report = try Sample.received(id: "a").report
    let entry = #"{"id":1,"report":{"program":"shop","groups":["k"]}}"#
    var asks = FleetAsks()
    asks.replace(FleetAsk.asks(in: JSONValue(parsing: Array("{\"asks\":[\(entry)]}".utf8))))
    #expect(asks.wanting(report) == [1])
    asks.markAnswered(1)
    for id in 2...256 { asks.markAnswered(id) }
    #expect(asks.wanting(report) == [])
    asks.markAnswered(257)
    #expect(asks.wanting(report) == [1])
  }

  @Test("each ask is tried once a minute, and at most eight asks are tried")
  func attempts() {
    var (asks, now) = (FleetAsks(), ContinuousClock.now)
    func begun(_ ids: ClosedRange<Int>) -> Int { ids.count { asks.beginsAttempt($0, at: now) } }
    #expect(begun(1...2) == 2)
    now += .seconds(59)
    #expect(begun(1...2) == 0)
    now += .seconds(1)
    #expect(begun(1...2) == 2)
    #expect(begun(3...1_000) == 6)
  }
}
