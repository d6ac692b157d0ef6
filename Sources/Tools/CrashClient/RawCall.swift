public import CrashProtocol

/// Calls by name, for what this version has no typed call for.
extension CrashClient {
  /// Calls a method, such as `io.crashshield.Crashd.Status`, and returns its parameters.
  public func call(method: String, parameters: JSONValue = .object([:])) throws(ClientError) -> JSONValue {
    let deadline = Deadline.after(timeout)
    let connection = try connect()
    try connection.send(method: method, parameters: parameters, more: false, until: deadline)
    return try connection.receive(JSONValue.self, until: deadline).parameters
  }

  /// Calls a method that has many replies.
  public func stream(method: String, parameters: JSONValue = .object([:])) throws(ClientError) -> ReplyStream {
    let connection = try connect()
    try connection.send(method: method, parameters: parameters, more: true, until: .after(timeout))
    return ReplyStream(connection: connection)
  }
}

/// The replies of one call with `more`; used by one thread.
public final class ReplyStream {
  private let connection: VarlinkConnection
  private var isOver = false

  init(connection: VarlinkConnection) { self.connection = connection }

  /// Waits for the parameters of the next reply; nil behind the last one.
  ///
  /// `hangup` is a descriptor whose hang-up ends the wait with `ClientError.cancelled`.
  public func next(hangup: Int32? = nil) throws(ClientError) -> JSONValue? {
    if isOver { return nil }
    let (reply, continues) = try connection.receive(JSONValue.self, until: .never, watching: hangup)
    isOver = !continues
    return reply
  }
}

// The connection's buffer has no lock: one thread reads.
@available(*, unavailable)
extension ReplyStream: Sendable {}
