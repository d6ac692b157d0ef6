public import CrashProtocol

/// The reason why a call to crashd failed.
public enum ClientError: Error, Equatable, Sendable {
  /// No crashd listens at `path`, or the caller is not allowed to connect: start crashd, or use another socket.
  case unreachable(path: String, errno: Int32)
  /// crashd did not answer in time. It can still execute the call.
  case timedOut(path: String)
  /// The connection ended before the reply was complete, because crashd stopped or disconnected this client as a slow
  /// reader.
  case closed(path: String)
  /// Reading from or writing to the connection failed.
  case failed(path: String, errno: Int32)
  /// The reply is malformed, for the given reason.
  case malformedReply(String)
  /// crashd is older than this library, and does not support the given operation: update crashd.
  case tooOld(String)
  /// crashd's reply is larger than the client's limit.
  case messageTooLarge(limitBytes: Int)
  /// The descriptor `hangup`, which the caller passed to a stream, reported a hang-up.
  case cancelled

  /// crashd returned an error.
  case refused(ProtocolError)
}
