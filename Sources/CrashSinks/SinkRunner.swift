public import CrashClient
import CrashReport

/// Takes one sink's events from crashd, one after the other, and acknowledges what the sink has delivered.
///
/// One event is held at a time: the next one is read when this one is delivered or refused. crashd cuts off a reader that
/// takes nothing for long; then the runner connects again and goes on behind what was acknowledged.
public struct SinkRunner: Sendable {
  /// What a runner needs besides its sink.
  public struct Surroundings: Sendable {
    /// crashd.
    public var client: CrashClient
    /// Ends it.
    public var stop: StopSignal
    /// What happens is counted here.
    public var board: SinkBoard
    /// And told here.
    public var log: SinkLog
    /// Waits; true when all is to end.
    var wait: @Sendable (Duration) -> Bool
    /// For the pace.
    var now: @Sendable () -> ContinuousClock.Instant = { .now }

    /// All of it.
    public init(client: CrashClient, stop: StopSignal, board: SinkBoard, log: SinkLog) {
      (self.client, self.stop, self.board, self.log) = (client, stop, board, log)
      wait = { stop.wait(for: $0) }
    }
  }

  /// Crashes that a sink remembers, so that the same one does not come twice.
  static let memory = 1_024

  private let sink: any Sink
  private let subscriber: String
  private let filter: String?
  private let scrubbing: ReportScrubbing?
  private let around: Surroundings
  private var pace: Pace
  private var backoff = Backoff()
  private var recent = RecentEvents(limit: Self.memory)

  /// - Parameters:
  ///   - sink: Where the events go.
  ///   - subscriber: Under which name crashd keeps the cursor.
  ///   - filter: Only programs whose name contains this.
  ///   - perMinute: At most so many events.
  ///   - scrubbing: What is taken out of them.
  ///   - around: crashd, and who is told.
  public init(
    _ sink: any Sink, subscriber: String, filter: String? = nil, perMinute: Int, scrubbing: ReportScrubbing?,
    around: Surroundings
  ) {
    (self.sink, self.subscriber, self.filter, self.scrubbing) = (sink, subscriber, filter, scrubbing)
    (self.around, pace) = (around, Pace(perMinute: perMinute))
  }

  /// Sends until it is stopped.
  public mutating func run() {
    around.board.change(sink.name) { _ in }
    while true {
      do throws(ClientError) {
        if try follow() { return }
      } catch {
        if error == .cancelled { return }
        // crashd ends streams that are not read, as while a server is away: that is as it should be.
        if case .closed = error {
          around.log(.debug, "\(sink.name): crashd closed the stream")
        } else {
          trouble(Self.text(error))
        }
      }
      if around.wait(backoff.delay()) { return }
    }
  }

  /// True when all is to end.
  private mutating func follow() throws(ClientError) -> Bool {
    let stream = try subscribe()
    while let event = try stream.next(hangup: around.stop.descriptor) {
      guard case .report(let received, let cursor) = event else {
        recovered()
        continue
      }
      if deliver(received) { return true }
      try around.client.acknowledge(cursor, subscriber: subscriber)
    }
    return false
  }

  private func subscribe() throws(ClientError) -> EventStream {
    do throws(ClientError) {
      return try around.client.subscribe(subscriber: subscriber, name: filter).begun()
    } catch {
      guard case .cursorExpired(let lost, let isExact) = error else { throw error }
      around.board.change(sink.name) { $0.lost += lost }
      around.log(
        .error,
        "\(sink.name): \(isExact ? "" : "about ")\(lost) reports were removed before they were sent; what is left follows"
      )
      return try around.client.subscribe(subscriber: subscriber, name: filter, expired: true).begun()
    }
  }

  /// True when all is to end, and the event is not done.
  private mutating func deliver(_ received: ReceivedReport) -> Bool {
    let key = RecentEvents.Key(received.report)
    if recent.contains(key) {
      around.board.change(sink.name) { $0.repeated += 1 }
      return false
    }
    let delay = pace.delay(at: around.now())
    if delay > .zero, around.wait(delay) { return true }
    let event: SinkEvent
    do { event = try SinkEvent(received, scrubbedBy: scrubbing) } catch {
      refuse(received.report.id, "it cannot be scrubbed: \(error)")
      return false
    }
    while true {
      switch sink.deliver(event) {
      case .delivered:
        recovered()
        around.board.change(sink.name) { $0.delivered += 1 }
        recent.insert(key)
        return false
      case .refused(let why):
        refuse(received.report.id, why)
        recent.insert(key)
        return false
      case .later(let why, let after):
        around.board.change(sink.name) { $0.retries += 1 }
        trouble(why)
        if around.wait(backoff.delay(atLeast: after)) { return true }
      }
    }
  }

  private mutating func recovered() {
    backoff.reset()
    let wasInTrouble = around.board.counts(of: sink.name).trouble != nil
    around.board.change(sink.name) { $0.trouble = nil }
    if wasInTrouble { around.log(.notice, "\(sink.name): goes on") }
  }

  private func refuse(_ id: String, _ why: String) {
    around.board.change(sink.name) {
      $0.refused += 1
      $0.trouble = nil
    }
    around.log(.error, "\(sink.name): report \(id) is left out: \(why)")
  }

  /// Told once, until it is another one.
  private func trouble(_ why: String) {
    if around.board.counts(of: sink.name).trouble == why { return }
    around.board.change(sink.name) { $0.trouble = why }
    around.log(.warning, "\(sink.name): waiting: \(why)")
  }

  private static func text(_ error: ClientError) -> String {
    switch error {
    case .unreachable(let path, let code): "cannot reach crashd at '\(path)': \(SystemError.text(code))"
    case .timedOut: "crashd does not answer"
    case .failed(_, let code): "the connection to crashd failed: \(SystemError.text(code))"
    default: "crashd: \(error)"
    }
  }
}
