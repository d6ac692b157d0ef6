import CrashClient
import CrashProtocol
public import CrashReport
import LinuxSystem

/// Reads events from crashd, and sends them to the fleet in batches.
///
/// A batch is acknowledged in crashd only after the fleet has committed it. In the same transaction as the batch, the
/// fleet stores crashd's cursor after the batch. When this program starts again, it continues at that cursor, even if
/// crashd missed the acknowledgement, so no crash is counted twice.
public struct FleetRunner: Sendable {
  static let name = "fleet"
  /// The time for which a whole report waits for further reports of its batch.
  private static let linger = Duration.milliseconds(100)

  let client: FleetClient
  let subscriber: String
  private let filter: String?
  private let scrubber: TextScrubber?
  let around: SinkRunner.Surroundings
  private let perMinute: Int
  let protection: ClassProtection
  var backoff = Backoff()

  /// - Parameters:
  ///   - client: The client of the fleet.
  ///   - subscriber: The name of the cursor in crashd.
  ///   - filter: Limits the runner to programs whose name contains this string.
  ///   - perMinute: The rate limit of whole reports.
  ///   - allowsProtection: Whether the fleet may ask this host to protect a class against use-after-free.
  ///   - scrubber: The scrubber of the events. If nil, events are not scrubbed.
  ///   - around: The client of crashd, the log, and the other dependencies.
  public init(
    _ client: FleetClient, subscriber: String, filter: String?, perMinute: Int, allowsProtection: Bool = false,
    scrubber: TextScrubber?, around: SinkRunner.Surroundings
  ) {
    protection = ClassProtection(
      client: around.client, isAllowed: allowsProtection, filter: filter, log: around.log)
    (self.client, self.subscriber, self.filter, self.scrubber) = (client, subscriber, filter, scrubber)
    (self.perMinute, self.around) = (perMinute, around)
  }

  /// Sends events until a stop is requested.
  public mutating func run() {
    around.board.change(Self.name) { _ in }
    var work = Work(policy: FleetPolicy(perMinute: perMinute))
    while true {
      do throws(ClientError) {
        if try follow(&work) { return }
      } catch {
        if error == .cancelled {
          // crashd sends the unsent events again at the next start.
          return
        }
        if case .closed = error {
          around.log(.debug, "\(Self.name): crashd closed the stream")
        } else {
          beginWaiting(SinkRunner.text(error))
        }
      }
      if around.wait(backoff.delay()) { return }
    }
  }

  /// The state that the runner keeps when a stream ends and the next stream begins.
  struct Work {
    var policy: FleetPolicy
    var batch = FleetBatch()
    var memory = FleetMemory()
    var asks = FleetAsks()
    var pace = CounterPace()
    var host: FleetHost?
    /// The stream whose committed cursor was requested from the fleet.
    var resumed: String?
    /// A cursor that the fleet has committed, but that is not acknowledged in crashd yet.
    var unacknowledged: String?
    /// The logged reasons for which this host refused asks.
    var loggedReasons: Set<String> = []
  }

  /// Reads the events of one stream.
  ///
  /// Returns true if a stop was requested.
  private mutating func follow(_ work: inout Work) throws(ClientError) -> Bool {
    // crashd sends unacknowledged events again. `policy` and the counters of the batch have already counted these
    // events, and cannot recognize them in the new stream. Therefore send and acknowledge the batch first.
    try acknowledge(&work)
    if !work.batch.isEmpty, try flush(&work) { return true }
    let stream = try around.subscribe(Self.name, subscriber, filter)
    while true {
      let event: EventStream.Event?
      do throws(ClientError) {
        event = try stream.next(timeout: patience(work), hangup: around.stop.descriptor)
      } catch {
        if case .timedOut = error {
          if try flush(&work) { return true }
          continue
        }
        guard let cursor = stream.unreadableCursor else { throw error }
        refuse("behind cursor \(cursor)", SinkRunner.text(error))
        work.batch.add(event: cursor, now: around.now())
        if case .malformedReply = error { continue }
        return false
      }
      switch event {
      case nil: return false
      case .ready?: endWaiting()
      case .report(let received, let cursor)?:
        if try resume(&work, received.report, cursor) { return false }
        take(received, cursor, &work)
        if work.batch.isFull || patience(work) == .zero, try flush(&work) { return true }
      }
    }
  }

  /// How long the runner waits for the next event before it sends the batch; nil without a limit.
  private func patience(_ work: Work) -> Duration? {
    guard let since = work.batch.since else { return nil }
    let now = around.now()
    let reports = work.batch.reportsSince.map { Self.linger - $0.duration(to: now) }
    let counters = work.pace.delay(since: since) - since.duration(to: now)
    return max(.zero, min(reports ?? counters, counters))
  }

  /// Requests this machine's last committed cursor from the fleet, once for each database (store) of crashd.
  ///
  /// Returns true if the stream must begin again, because the fleet has a committed cursor. The runner must first
  /// acknowledge this cursor in crashd.
  private mutating func resume(_ work: inout Work, _ report: CrashReport, _ cursor: String) throws(ClientError) -> Bool
  {
    let (host, stream) = (work.host ?? FleetHost(report), Self.stream(subscriber, cursor))
    work.host = host
    if work.resumed == stream { return false }
    while true {
      do throws(FleetClient.Later) {
        let known = try client.position(host, stream: stream)
        work.resumed = stream
        endWaiting()
        for ask in known.answered { work.asks.markAnswered(ask) }
        guard let cursor = known.cursor else { return false }
        work.unacknowledged = cursor
        return true
      } catch {
        around.board.change(Self.name) { $0.retries += 1 }
        beginWaiting(error.why)
        if around.wait(backoff.delay(atLeast: error.after)) { throw .cancelled }
      }
    }
  }

  /// The name of the stream in the fleet: the subscriber, and the store that issued the cursor.
  static func stream(_ subscriber: String, _ cursor: String) -> String {
    "\(subscriber)@\(cursor.prefix { $0 != "." && $0 != "-" }.prefix(64))"
  }

  private mutating func take(_ received: ReceivedReport, _ cursor: String, _ work: inout Work) {
    defer { work.batch.add(event: cursor, now: around.now()) }
    let verdict = work.memory.verdict(received.report)
    if verdict == .repeated {
      around.board.change(Self.name) { $0.repeated += 1 }
      return
    }
    guard let event = try? SinkEvent(received, scrubbedBy: scrubber), let host = work.host else {
      // Do not log the error message, because it would repeat a part of the report.
      work.memory.remember(received.report, isWhole: false)
      refuse(received.report.id, "cannot read it after scrubbing")
      return
    }
    let asks = work.asks.wanting(event.report)
    // The fleet has the earlier report, and moves its crash to the new group.
    let isWhole =
      verdict == .moved || work.policy.sendsWhole(event.report, isAsked: !asks.isEmpty, at: around.now())
    work.memory.remember(received.report, isWhole: isWhole)
    if isWhole {
      do {
        try work.batch.add(whole: event, answering: asks, host, now: around.now())
        for ask in asks {
          work.asks.markAnswered(ask)
          around.log(.notice, "\(Self.name): sends report \(event.report.id), which the fleet asked for (ask \(ask))")
        }
      } catch {
        refuse(event.report.id, "cannot encode the report: \(error)")
      }
    } else {
      work.batch.counters.add(event.report)
    }
  }

  func refuse(_ id: String, _ why: String) { around.refuse(Self.name, id, why) }
  func beginWaiting(_ why: String) { around.beginWaiting(Self.name, why) }
  func endWaiting() { around.endWaiting(Self.name) }
}
