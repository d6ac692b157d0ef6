import CrashClient
import CrashProtocol
public import CrashReport
import LinuxSystem

/// Reads events from crashd, and sends them to the fleet in batches.
///
/// A batch is acknowledged in crashd only after the fleet has committed it. Together with the batch, the fleet stores
/// the cursor after the batch. When this program starts again, it continues at that cursor, even if crashd missed the
/// acknowledgement, so no crash is counted twice.
public struct FleetRunner: Sendable {
  static let name = "fleet"
  /// The time for which a whole report waits for further reports of its batch.
  private static let linger = Duration.milliseconds(100)

  let client: FleetClient
  private let subscriber: String
  private let filter: String?
  private let scrubber: TextScrubber?
  let around: SinkRunner.Surroundings
  private let perMinute: Int
  let protection: ClassProtection
  private var backoff = Backoff()

  /// - Parameters:
  ///   - client: The client of the fleet.
  ///   - subscriber: The name of the cursor in crashd.
  ///   - filter: Limits the runner to programs whose name contains this string.
  ///   - perMinute: The rate limit of whole reports.
  ///   - allowsProtection: Whether the fleet may ask for the protection of a class.
  ///   - scrubber: The scrubber of the events. If nil, events are not scrubbed.
  ///   - around: The other dependencies.
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
    /// The stream whose committed cursor is known.
    var resumed: String?
    /// A cursor that the fleet has committed, but that is not acknowledged in crashd yet.
    var unacknowledged: String?
    /// The reasons for refusals of asks that the log has.
    var loggedReasons: Set<String> = []
  }

  /// Reads the events of one stream.
  ///
  /// Returns true if a stop was requested.
  private mutating func follow(_ work: inout Work) throws(ClientError) -> Bool {
    // crashd sends unacknowledged events again. The policy and the counters of this run have already counted these
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

  /// How long the runner waits for the next event; nil without a limit.
  private func patience(_ work: Work) -> Duration? {
    guard let since = work.batch.since else { return nil }
    let now = around.now()
    let reports = work.batch.reportsSince.map { Self.linger - $0.duration(to: now) }
    let counters = work.pace.delay - since.duration(to: now)
    return max(.zero, min(reports ?? counters, counters))
  }

  /// Requests this machine's last committed cursor from the fleet, once for each store of crashd.
  ///
  /// Returns true if the stream must begin again: the fleet has a committed cursor, which the runner must first
  /// acknowledge in crashd.
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
  private static func stream(_ subscriber: String, _ cursor: String) -> String {
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
        try work.batch.add(whole: event, host, now: around.now())
        for ask in asks {
          work.batch.add(answer: ask, "sent")
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

  /// Sends the batch until the fleet has committed it, and acknowledges it in crashd.
  ///
  /// Returns true after a stop.
  private mutating func flush(_ work: inout Work) throws(ClientError) -> Bool {
    guard let host = work.host, let cursor = work.batch.cursor else {
      // The host is unknown only if no event of the batch was readable. In this case, only acknowledge the unreadable
      // events.
      if let cursor = work.batch.cursor { try around.client.acknowledge(cursor, subscriber: subscriber) }
      work.batch.markSent()
      return false
    }
    while true {
      let body = (try? work.batch.body(host, stream: Self.stream(subscriber, cursor))) ?? []
      switch client.send(body) {
      case .committed(let receipt):
        for (item, reason) in receipt.refusals { refuse(work.batch.id(ofLine: item) ?? "item \(item)", reason) }
        expire(receipt.expired)
        work.asks.replace(receipt.asks)
        // Both numbers come from a server, and their sum may overflow.
        let dropped = receipt.refused.addingReportingOverflow(receipt.expired)
        let lost = dropped.overflow ? work.batch.events : min(work.batch.events, dropped.partialValue)
        around.board.change(Self.name) { $0.delivered += work.batch.events - lost }
        if work.batch.counters.unsent > 0 { work.pace.sent(at: around.now()) }
        work.batch.markSent()
        endWaiting()
        backoff.reset()
        work.unacknowledged = cursor
        try acknowledge(&work)
        protectClasses(&work, host)
        return false
      case .refused(let why):
        // The fleet refuses the body as a whole, possibly because of one report. Therefore send each report alone.
        guard work.batch.firstReport != nil else {
          around.board.change(Self.name) { $0.retries += 1 }
          beginWaiting(why)
          if around.wait(backoff.delay()) { return true }
          continue
        }
        if sendAlone(&work.batch) { return true }
      case .later(let why, let after):
        around.board.change(Self.name) { $0.retries += 1 }
        beginWaiting(why)
        if around.wait(backoff.delay(atLeast: after)) { return true }
      }
    }
  }

  /// Sends each whole report of the batch alone, and drops those that the fleet refuses.
  ///
  /// If this program ends meanwhile, the reports are sent again, and the fleet recognizes them by their ids.
  /// Returns true after a stop.
  private mutating func sendAlone(_ batch: inout FleetBatch) -> Bool {
    while let (id, line) = batch.firstReport {
      switch client.send(line) {
      case .committed(let receipt):
        for (_, reason) in receipt.refusals.prefix(1) { refuse(id, reason) }
        expire(min(1, receipt.expired))
        if !receipt.refusals.isEmpty || receipt.expired > 0 { batch.events -= 1 }
        batch.removeFirst()
      case .refused(let why):
        refuse(id, why)
        batch.events -= 1
        batch.removeFirst()
      case .later(let why, let after):
        around.board.change(Self.name) { $0.retries += 1 }
        beginWaiting(why)
        if around.wait(backoff.delay(atLeast: after)) { return true }
      }
    }
    return false
  }

  /// Acknowledges in crashd the events that the fleet has committed.
  ///
  /// Without the acknowledgement, crashd would send the same events again, and the counters would count them again.
  private func acknowledge(_ work: inout Work) throws(ClientError) {
    guard let cursor = work.unacknowledged else { return }
    do throws(ClientError) { try around.client.acknowledge(cursor, subscriber: subscriber) } catch {
      // crashd refuses a cursor of an earlier store.
      guard case .refused = error else { throw error }
    }
    work.unacknowledged = nil
  }

  private func expire(_ count: Int) {
    if count == 0 { return }
    around.board.change(Self.name) {
      let sum = $0.expired.addingReportingOverflow(count)
      $0.expired = sum.overflow ? .max : sum.partialValue
    }
    around.log(
      .warning,
      "\(Self.name): dropped \(count) reports and counters that are older than the retention of the fleet")
  }

  private func refuse(_ id: String, _ why: String) { around.refuse(Self.name, id, why) }
  private func beginWaiting(_ why: String) { around.beginWaiting(Self.name, why) }
  private func endWaiting() { around.endWaiting(Self.name) }
}
