public import CrashClient
import CrashProtocol
public import CrashReport
import LinuxSystem

/// Reads one sink's events from crashd, delivers them in order, and acknowledges delivered events.
///
/// The runner reads an event only after the event before it has been delivered or refused. crashd disconnects a reader
/// that is idle for a long time. The runner then reconnects, and resumes after the last acknowledgement.
public struct SinkRunner: Sendable {
  /// The dependencies of a runner, except its sink.
  public struct Surroundings: Sendable {
    /// The client of crashd.
    public var client: CrashClient
    /// The signal that stops the runner.
    public var stop: StopSignal
    /// The board with the counters of all sinks.
    public var board: SinkBoard
    /// The log of the program.
    public var log: SinkLog
    /// Waits for a duration.
    ///
    /// Returns true if a stop was requested during the wait.
    var wait: @Sendable (Duration) -> Bool
    /// The clock of the rate limit.
    var now: @Sendable () -> ContinuousClock.Instant = { .now }

    /// Creates the dependencies from their parts.
    public init(client: CrashClient, stop: StopSignal, board: SinkBoard, log: SinkLog) {
      (self.client, self.stop, self.board, self.log) = (client, stop, board, log)
      wait = { stop.wait(for: $0) }
    }
  }

  /// The number of sent crashes that a sink remembers, in order to skip duplicates.
  static let memory = 1_024

  private let sink: any Sink
  private let subscriber: String
  private let filter: String?
  private let scrubber: TextScrubber?
  private let around: Surroundings
  private let giveUpAfter: Duration
  private var pace: Pace
  private var backoff = Backoff()
  /// Whether the runner is connecting to crashd, and the stream has not begun.
  private var waitsForCrashd = false
  /// The last logged reason why crashd could not be reached; nil if none was logged.
  private var unreached: String?
  private var recent = RecentEvents(limit: Self.memory)

  /// - Parameters:
  ///   - sink: The receiver of the events.
  ///   - subscriber: The name of the cursor in crashd.
  ///   - filter: Limits the runner to programs whose name contains this string.
  ///   - perMinute: The rate limit of events.
  ///   - giveUpAfter: The time after which an event is dropped if the server answers but does not accept it.
  ///   - scrubber: The scrubber of the events. If nil, events are not scrubbed.
  ///   - around: The client of crashd, the log, and the other dependencies.
  public init(
    _ sink: any Sink, subscriber: String, filter: String? = nil, perMinute: Int,
    giveUpAfter: Duration = .seconds(3_600),
    scrubber: TextScrubber?, around: Surroundings
  ) {
    (self.sink, self.subscriber, self.filter, self.scrubber) = (sink, subscriber, filter, scrubber)
    (self.around, self.giveUpAfter, pace) = (around, giveUpAfter, Pace(perMinute: perMinute))
  }

  /// Sends events until a stop is requested.
  public mutating func run() {
    around.board.change(sink.name) { _ in }
    while true {
      do throws(ClientError) {
        if try follow() { return }
      } catch {
        if error == .cancelled { return }
        // crashd ends idle streams, for example while a server is down. The end of a stream is therefore not a failure.
        if case .closed = error {
          around.log(.debug, "\(sink.name): crashd closed the stream")
        } else {
          beginWaiting(Self.text(error))
          if waitsForCrashd { unreached = Self.text(error) }
        }
      }
      if around.wait(backoff.delay()) { return }
    }
  }

  /// Reads the events of one stream and delivers them, until the stream ends or a stop is requested.
  ///
  /// Returns true if a stop was requested.
  private mutating func follow() throws(ClientError) -> Bool {
    waitsForCrashd = true
    let stream = try around.subscribe(sink.name, subscriber, filter)
    // Clear the reason for waiting only if it is that crashd could not be reached. After a failed delivery, the reason
    // stays, because the same event is sent again.
    if let why = unreached, around.board.counts(of: sink.name).failure == why { endWaiting() }
    (waitsForCrashd, unreached) = (false, nil)
    while true {
      switch try next(of: stream) {
      case nil: return false
      case .ready?: continue
      case .report(let received, let cursor)?:
        if deliver(received) { return true }
        try acknowledge(cursor)
      }
    }
  }

  /// Reads the next event.
  ///
  /// An event that cannot be decoded is dropped and acknowledged, because it would otherwise block all later events.
  private mutating func next(of stream: EventStream) throws(ClientError) -> EventStream.Event? {
    while true {
      do throws(ClientError) { return try stream.next(hangup: around.stop.descriptor) } catch {
        guard let cursor = stream.unreadableCursor else { throw error }
        refuse("behind cursor \(cursor)", Self.text(error))
        try acknowledge(cursor)
        // After another error, such as an oversized event whose rest is still in the connection, the runner must
        // reconnect.
        if case .malformedReply = error { continue }
        return nil
      }
    }
  }

  /// Acknowledges an event, so that crashd does not send it again.
  ///
  /// If the status shows a reason why the sink waits, clears it.
  private mutating func acknowledge(_ cursor: String) throws(ClientError) {
    try around.client.acknowledge(cursor, subscriber: subscriber)
    backoff.reset()
    endWaiting()
  }

  /// Delivers an event.
  ///
  /// Returns true if a stop was requested before the delivery.
  private mutating func deliver(_ received: ReceivedReport) -> Bool {
    let key = RecentEvents.Key(received.report)
    if recent.contains(key) {
      around.board.change(sink.name) { $0.repeated += 1 }
      return false
    }
    let delay = pace.delay(at: around.now())
    if delay > .zero, around.wait(delay) { return true }
    let event: SinkEvent
    do { event = try SinkEvent(received, scrubbedBy: scrubber) } catch {
      // Do not log the error message, because it would repeat a part of the report.
      refuse(received.report.id, "cannot read it after scrubbing")
      return false
    }
    var (tries, firstAnswer) = (0, ContinuousClock.Instant?.none)
    while true {
      tries += 1
      switch sink.deliver(event) {
      case .delivered:
        around.board.change(sink.name) { $0.delivered += 1 }
        recent.insert(key)
        return false
      case .refused(let why):
        refuse(received.report.id, why)
        recent.insert(key)
        return false
      case .later(let why, let after, let maybeNever):
        if maybeNever {
          let (now, first) = (around.now(), firstAnswer ?? around.now())
          firstAnswer = first
          if first.duration(to: now) >= giveUpAfter {
            refuse(received.report.id, "tried \(tries) times: \(why)")
            recent.insert(key)
            return false
          }
        }
        around.board.change(sink.name) { $0.retries += 1 }
        beginWaiting(why)
        if around.wait(backoff.delay(atLeast: after)) { return true }
      }
    }
  }

  private func endWaiting() { around.endWaiting(sink.name) }
  private func refuse(_ id: String, _ why: String) { around.refuse(sink.name, id, why) }
  private func beginWaiting(_ why: String) { around.beginWaiting(sink.name, why) }

  /// Describes an error of crashd's client for the log.
  static func text(_ error: ClientError) -> String {
    switch error {
    case .unreachable(let path, let code): "cannot reach crashd at '\(path)': \(SystemError.text(code))"
    case .timedOut: "crashd does not answer"
    case .failed(_, let code): "the connection to crashd failed: \(SystemError.text(code))"
    // Do not log the error message, because it would repeat a part of the report that is not scrubbed.
    case .malformedReply: "cannot read crashd's message"
    case .messageTooLarge(let limit): "crashd's message is longer than \(limit >> 10) KiB"
    case .refused(let error): "crashd: \(error)"
    default: "crashd: \(error)"
    }
  }
}
