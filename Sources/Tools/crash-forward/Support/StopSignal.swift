import Glibc
public import LinuxSystem

/// A pair of sockets one of which is shut down when all is to end: every wait looks at the other end.
public final class StopSignal: Sendable {
  private let reader: Descriptor
  let writer: Descriptor

  /// Hangs up when all is to end.
  public var descriptor: Int32 { reader.number }

  /// Nothing is to end yet.
  /// - Throws: `SystemError` when there are no descriptors left.
  public init() throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    // Two descriptors are written. (A pipe that no child inherits takes a call that Swift does not see.)
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemError("make a pair of sockets") }
    (reader, writer) = (Descriptor(owning: ends[0]), Descriptor(owning: ends[1]))
  }

  /// Ends all, also where a child that is on its way to another program has a copy of the socket.
  public func stop() { shutdown(writer.number, Int32(SHUT_RDWR)) }

  /// Waits; true when all is to end.
  public func wait(for duration: Duration) -> Bool {
    let wait_ms = min(Double(Int32.max), max(0, (duration / .milliseconds(1)).rounded(.up)))
    return isReadable(descriptor, timeout_ms: Int32(wait_ms))
  }
}
