import CrashProtocol
public import CrashReport

/// A stream of incidents in the order in which crashd stores them.
///
/// Only one thread may use the stream.
public final class IncidentStream {
  /// The incidents that crashd sent in one message.
  public struct Page: Sendable, Equatable {
    /// The incidents, in the order in which crashd stored them.
    ///
    /// The first page is empty, and shows that the stream has begun.
    public var incidents: [IncidentReport]
    /// The cursor of the position after this page, for `followIncidents`.
    public var cursor: String
    /// At least this many incidents since the previous page were evicted from the store before they were read.
    ///
    /// The number includes incidents that do not match the filter.
    public var lost = 0
  }

  private let connection: VarlinkConnection
  private var isOver = false

  init(connection: VarlinkConnection) { self.connection = connection }

  /// Waits for the next page.
  ///
  /// Without a `timeout`, the wait is unlimited. Returns nil if crashd ended the stream.
  ///
  /// `hangup` is a descriptor, such as the descriptor of the pipe to which the caller writes the incidents. If poll
  /// reports a hang-up of this descriptor, the wait ends with `ClientError.cancelled`.
  public func next(timeout: Duration? = nil, hangup: Int32? = nil) throws(ClientError) -> Page? {
    if isOver { return nil }
    let deadline = timeout.map { Deadline.after($0) } ?? .never
    let reply = try connection.receive(Methods.Incidents.Reply.self, until: deadline, watching: hangup)
    isOver = !reply.continues
    guard let cursor = reply.parameters.cursor else {
      // Some crashd versions do not support streams of incidents. Such a crashd replies with a list, which does not
      // have a cursor.
      throw reply.continues ? .malformedReply("incidents without a cursor") : .tooOld("stream incidents")
    }
    return Page(incidents: reply.parameters.incidents, cursor: cursor, lost: max(0, reply.parameters.lost ?? 0))
  }
}

// The connection's buffer has no lock, so only one thread may read.
@available(*, unavailable)
extension IncidentStream: Sendable {}
