import CrashProtocol
public import CrashReport

/// A stream of incidents in the order in which crashd stores them.
///
/// Only one thread may use it.
public final class IncidentStream {
  /// The incidents of one message.
  public struct Page: Sendable, Equatable {
    /// The incidents, in the order in which crashd stored them.
    ///
    /// The first page has none, and shows that the stream has begun.
    public var incidents: [IncidentReport]
    /// The cursor at which `followIncidents` continues.
    public var cursor: String
    /// The minimum number of incidents since the previous page that the store evicted before they were read.
    ///
    /// The filter does not apply to this number.
    public var lost = 0
  }

  private let connection: VarlinkConnection
  private var isOver = false

  init(connection: VarlinkConnection) { self.connection = connection }

  /// Waits for the next page.
  ///
  /// Without a `timeout` the wait has no limit. Returns nil if crashd ended the stream.
  ///
  /// `hangup` is a descriptor, such as the output of the incidents. If it reports a hang-up, the wait ends with
  /// `ClientError.cancelled`.
  public func next(timeout: Duration? = nil, hangup: Int32? = nil) throws(ClientError) -> Page? {
    if isOver { return nil }
    let deadline = timeout.map { Deadline.after($0) } ?? .never
    let reply = try connection.receive(Methods.Incidents.Reply.self, until: deadline, watching: hangup)
    isOver = !reply.continues
    guard let cursor = reply.parameters.cursor else {
      // A crashd that does not support streams of incidents answers with a list.
      throw reply.continues ? .malformedReply("incidents without a cursor") : .tooOld("stream incidents")
    }
    return Page(incidents: reply.parameters.incidents, cursor: cursor, lost: max(0, reply.parameters.lost ?? 0))
  }
}

// The connection's buffer has no lock, so only one thread may read.
@available(*, unavailable)
extension IncidentStream: Sendable {}
