public import CrashClient
import CrashProtocol
public import CrashReport
import LinuxSystem

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
  private let scrubber: TextScrubber?
  private let around: Surroundings
  private let giveUpAfter: Duration
  private var pace: Pace
  private var backoff = Backoff()
  /// Until crashd has begun a stream.
  private var waitsForCrashd = false
  /// What was told of that.
  private var unreached: String?
  private var recent = RecentEvents(limit: Self.memory)

  /// - Parameters:
  ///   - sink: Where the events go.
  ///   - subscriber: Under which name crashd keeps the cursor.
  ///   - filter: Only programs whose name contains this.
  ///   - perMinute: At most so many events.
  ///   - giveUpAfter: An event that a server has answered for so long without taking it is left out.
  ///   - scrubber: What is taken out of them; nil takes out nothing.
  ///   - around: crashd, and who is told.
  public init(
    _ sink: any Sink, subscriber: String, filter: String? = nil, perMinute: Int,
    giveUpAfter: Duration = .seconds(3_600),
    scrubber: TextScrubber?, around: Surroundings
  ) {
    (self.sink, self.subscriber, self.filter, self.scrubber) = (sink, subscriber, filter, scrubber)
    (self.around, self.giveUpAfter, pace) = (around, giveUpAfter, Pace(perMinute: perMinute))
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
          if waitsForCrashd { unreached = Self.text(error) }
        }
      }
      if around.wait(backoff.delay()) { return }
    }
  }

  /// True when all is to end.
  private mutating func follow() throws(ClientError) -> Bool {
    waitsForCrashd = true
    let stream = try subscribe()
    // Trouble of another kind is not over because a stream has begun: the same event may come again.
    if let why = unreached, around.board.counts(of: sink.name).trouble == why { goesOn() }
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

  /// Leaves out what cannot be read, where crashd can be told of it: it would stand in the way of all that follows.
  private mutating func next(of stream: EventStream) throws(ClientError) -> EventStream.Event? {
    while true {
      do throws(ClientError) { return try stream.next(hangup: around.stop.descriptor) } catch {
        guard let cursor = stream.unreadableCursor else { throw error }
        refuse("behind cursor \(cursor)", Self.text(error))
        try acknowledge(cursor)
        // Only of an event that is too large is there a rest in the connection.
        if case .malformedReply = error { continue }
        return nil
      }
    }
  }

  /// Only now is it sure that the same will not come again: whatever was waited for is over.
  private mutating func acknowledge(_ cursor: String) throws(ClientError) {
    try around.client.acknowledge(cursor, subscriber: subscriber)
    backoff.reset()
    goesOn()
  }

  private func subscribe() throws(ClientError) -> EventStream {
    do throws(ClientError) {
      return try around.client.subscribe(subscriber: subscriber, name: filter).begun()
    } catch {
      guard case .refused(.cursorExpired(let lost, let isExact)) = error else { throw error }
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
    do { event = try SinkEvent(received, scrubbedBy: scrubber) } catch {
      // What is wrong repeats a part of it.
      refuse(received.report.id, "it cannot be read when it is scrubbed")
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
        trouble(why)
        if around.wait(backoff.delay(atLeast: after)) { return true }
      }
    }
  }

  private func goesOn() {
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
    // What is wrong repeats a part of the report, which nobody has scrubbed.
    case .malformedReply: "what crashd sends cannot be read"
    case .messageTooLarge(let limit): "what crashd sends is longer than \(limit >> 10) KiB"
    case .refused(let error): "crashd: \(error)"
    default: "crashd: \(error)"
    }
  }
}
