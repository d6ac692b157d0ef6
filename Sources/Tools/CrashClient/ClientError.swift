public import CrashProtocol

/// Why a call to crashd has no result.
public enum ClientError: Error, Equatable, Sendable {
  /// No crashd listens at `path`, or the caller may not connect: start crashd, or name another socket.
  case unreachable(path: String, errno: Int32)
  /// crashd did not answer in time; it may still do what was asked.
  case timedOut(path: String)
  /// The connection ended before the reply was whole: crashd stopped, or cut off a reader that was too slow.
  case closed(path: String)
  /// Reading from or writing to the connection failed.
  case failed(path: String, errno: Int32)
  /// What came is no reply to the call; the text says what is wrong with it.
  case malformedReply(String)
  /// crashd is older than this library, and cannot do what the text says: update crashd.
  case tooOld(String)
  /// A reply longer than the client reads.
  case messageTooLarge(limitBytes: Int)
  /// The descriptor that an `EventStream` watches was hung up.
  case cancelled

  /// crashd answered with an error.
  case refused(ProtocolError)
}
