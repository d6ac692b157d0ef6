import CrashProtocol
public import CrashReport

/// A stream of incidents as crashd stores them; used by one thread.
public final class IncidentStream {
  /// The incidents of one message.
  public struct Page: Sendable, Equatable {
    /// In the order in which crashd has stored them; none in the first page, which says that none is missed from here on.
    public var incidents: [IncidentReport]
    /// Where `followIncidents` goes on.
    public var cursor: String
    /// Incidents since the page before that crashd's store evicted before they were read, whatever the filter; at least so many.
    public var lost = 0
  }

  private let connection: VarlinkConnection
  private var isOver = false

  init(connection: VarlinkConnection) { self.connection = connection }

  /// Waits for the next page, for ever without a `timeout`; nil when crashd ended the stream.
  ///
  /// `hangup` is a descriptor whose hang-up ends the wait with `ClientError.cancelled`, such as the output that the
  /// incidents are written to.
  public func next(timeout: Duration? = nil, hangup: Int32? = nil) throws(ClientError) -> Page? {
    if isOver { return nil }
    let deadline = timeout.map { Deadline.after($0) } ?? .never
    let reply = try connection.receive(Methods.Incidents.Reply.self, until: deadline, watching: hangup)
    isOver = !reply.continues
    guard let cursor = reply.parameters.cursor else {
      // A crashd that knows no streams of incidents answers with a list.
      throw reply.continues ? .malformedReply("incidents without a cursor") : .tooOld("stream incidents")
    }
    return Page(incidents: reply.parameters.incidents, cursor: cursor, lost: max(0, reply.parameters.lost ?? 0))
  }
}

// The connection's buffer has no lock: one thread reads.
@available(*, unavailable)
extension IncidentStream: Sendable {}
