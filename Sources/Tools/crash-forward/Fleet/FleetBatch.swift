import CrashProtocol
import CrashReport
import Glibc

/// The events that crash-forward sends to the fleet in one request, and the cursor to acknowledge in crashd after the
/// fleet has committed them.
struct FleetBatch {
  /// The limits of one request.
  ///
  /// Further reports wait for the next batch.
  static let (reportLimit, byteLimit) = (100, 2 << 20)

  private var lines: [[UInt8]] = []
  private var ids: [String] = []
  private var bytes = 0
  var counters = FleetCounters()
  /// The answers to asks (requests of the fleet), with what this host did: `sent`, `protected` or `refused`.
  private(set) var answers: [(ask: Int, outcome: String)] = []
  /// The asks that each whole report answers, in the order of `ids`.
  private var asks: [[Int]] = []
  /// The cursor after the last event of the batch.
  var cursor: String?
  /// The number of events of the batch.
  var events = 0
  /// The time at which the first whole report was added to the batch; nil if there is none.
  private(set) var reportsSince: ContinuousClock.Instant?
  /// The time at which the first event was added to the batch.
  private(set) var since: ContinuousClock.Instant?

  var isEmpty: Bool { cursor == nil }
  var isFull: Bool {
    lines.count >= Self.reportLimit || bytes >= Self.byteLimit || counters.unsent >= FleetCounters.batch
  }

  /// Adds a whole report, and the answers to the asks for this report.
  mutating func add(
    whole event: SinkEvent, answering asks: [Int], _ host: FleetHost, now: ContinuousClock.Instant
  ) throws {
    let line = try JSONValue.object([
      "report": event.json, "revision": .int(Self.now_us()), "host": host.json,
    ]).encoded()
    lines.append(line)
    ids.append(event.report.id)
    self.asks.append(asks)
    for ask in asks { add(answer: ask, "sent") }
    bytes += line.count
    reportsSince = reportsSince ?? now
  }

  mutating func add(answer ask: Int, _ outcome: String) { answers.append((ask, outcome)) }

  mutating func add(event cursor: String, now: ContinuousClock.Instant) {
    self.cursor = cursor
    events += 1
    since = since ?? now
  }

  /// Returns the body of the request: one JSON object per line.
  func body(_ host: FleetHost, stream: String) throws -> [UInt8] {
    var all = lines
    for count in counters.items() { all.append(try JSONValue.object(["count": count, "host": host.json]).encoded()) }
    for (ask, outcome) in answers {
      let answer: [String: JSONValue] = ["ask": .int(ask), "outcome": .string(outcome)]
      all.append(try JSONValue.object(["answer": .object(answer), "host": host.json]).encoded())
    }
    if let cursor {
      let position: [String: JSONValue] = [
        "stream": .string(stream), "cursor": .string(cursor), "time": .int(Self.now_us()),
      ]
      all.append(try JSONValue.object(["position": .object(position), "host": host.json]).encoded())
    }
    return Array(all.joined(separator: [UInt8(ascii: "\n")]))
  }

  /// Records that the fleet has committed the batch, and empties the batch.
  mutating func markSent() {
    counters.markSent()
    (lines, ids, asks, answers, bytes, cursor, events) = ([], [], [], [], 0, nil, 0)
    (reportsSince, since) = (nil, nil)
  }

  /// The id and the line of the first whole report; nil if there is none.
  var firstReport: (id: String, line: [UInt8])? {
    guard let id = ids.first, let line = lines.first else { return nil }
    return (id, line)
  }

  /// Removes the first whole report.
  ///
  /// Precondition: `firstReport` is not nil.
  mutating func removeFirst() {
    bytes -= lines.removeFirst().count
    ids.removeFirst()
    asks.removeFirst()
  }

  /// Removes the first whole report and its answers, because the fleet does not accept the report.
  ///
  /// Returns the asks that the report answered. Precondition: `firstReport` is not nil.
  mutating func dropFirst() -> [Int] {
    let dropped = asks[0]
    answers.removeAll { $0.outcome == "sent" && dropped.contains($0.ask) }
    events -= 1
    removeFirst()
    return dropped
  }

  /// The id of the report in a line of the body; nil if the line does not contain a report.
  func id(ofLine line: Int) -> String? { ids.indices.contains(line) ? ids[line] : nil }

  /// The asks that the report in a line of the body answers.
  func asks(ofLine line: Int) -> [Int] { asks.indices.contains(line) ? asks[line] : [] }

  private static func now_us() -> Int {
    var time = timespec()
    // Invariant: the kernel fills in the structure during the call. CLOCK_REALTIME always exists.
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
  }
}
