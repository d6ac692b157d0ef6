public import CrashProtocol

/// Calls methods by name, for methods for which this version of the library has no function.
extension CrashClient {
  /// Calls a method, such as `io.crashshield.Crashd.Status`, and returns the parameters of the reply.
  public func call(method: String, parameters: JSONValue = .object([:])) throws(ClientError) -> JSONValue {
    let deadline = Deadline.after(timeout)
    let connection = try connect()
    try connection.send(method: method, parameters: parameters, more: false, until: deadline)
    return try connection.receive(JSONValue.self, until: deadline).parameters
  }

  /// Calls a method that sends many replies.
  public func stream(method: String, parameters: JSONValue = .object([:])) throws(ClientError) -> ReplyStream {
    let connection = try connect()
    try connection.send(method: method, parameters: parameters, more: true, until: .after(timeout))
    return ReplyStream(connection: connection)
  }
}

/// The replies of one call that has Varlink's flag `more`.
///
/// Only one thread may use the stream.
public final class ReplyStream {
  private let connection: VarlinkConnection
  private var isOver = false

  init(connection: VarlinkConnection) { self.connection = connection }

  /// Waits for the next reply, and returns its parameters.
  ///
  /// Returns nil after the last reply.
  ///
  /// If poll reports a hang-up of the descriptor `hangup`, the wait ends with `ClientError.cancelled`.
  public func next(hangup: Int32? = nil) throws(ClientError) -> JSONValue? {
    if isOver { return nil }
    let (reply, continues) = try connection.receive(JSONValue.self, until: .never, watching: hangup)
    isOver = !continues
    return reply
  }
}

// The connection's buffer has no lock, so only one thread may read.
@available(*, unavailable)
extension ReplyStream: Sendable {}
