/// Reports as crashd stores them; used by one thread.
public final class EventStream {
  /// What the stream tells.
  public enum Event: Sendable, Equatable {
    /// From here on no new report is missed.
    case ready
    /// A report, and the cursor that continues after it. The same report may come again with more in it.
    case report(ReceivedReport, cursor: String)
  }

  private let connection: VarlinkConnection
  private var isOver = false
  /// What was received and not asked for yet.
  private var pending: Event?

  init(connection: VarlinkConnection) { self.connection = connection }

  /// Waits until crashd has said that the stream begins, or why it does not.
  /// - Throws: Such as `ClientError.cursorExpired`.
  public func begun(timeout: Duration = .seconds(30)) throws(ClientError) -> EventStream {
    if pending == nil { pending = try next(timeout: timeout) }
    return self
  }

  /// Waits for the next event, for ever without a `timeout`; nil when crashd ended the stream.
  ///
  /// `hangup` is a descriptor whose hang-up ends the wait with `ClientError.cancelled`, such as the output that the
  /// events are written to.
  public func next(timeout: Duration? = nil, hangup: Int32? = nil) throws(ClientError) -> Event? {
    if let event = pending {
      pending = nil
      return event
    }
    struct Parameters: Decodable {
      var ready: Bool?
      var cursor: String?
      var report: ReceivedReport?
    }
    let deadline = timeout.map { Deadline.after($0) } ?? .never
    while !isOver {
      let (parameters, continues) = try connection.receive(Parameters.self, until: deadline, watching: hangup)
      isOver = !continues
      if let report = parameters.report {
        guard let cursor = parameters.cursor else { throw .malformedReply("an event without a cursor") }
        return .report(report, cursor: cursor)
      }
      if parameters.ready == true { return .ready }
    }
    return nil
  }
}

// The connection's buffer has no lock: one thread reads.
@available(*, unavailable)
extension EventStream: Sendable {}
