import Glibc
public import LinuxSystem

/// A stop request, made of a pair of sockets: `stop` shuts one end down, and every wait polls the other one.
public final class StopSignal: Sendable {
  private let reader: Descriptor
  let writer: Descriptor

  /// The end that hangs up on a stop.
  public var descriptor: Int32 { reader.number }

  /// Creates a stop request that is not set.
  /// - Throws: `SystemError` if no descriptor is left.
  public init() throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    // Two descriptors are written. (A pipe that no child inherits takes a call that Swift does not see.)
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemError("make a pair of sockets") }
    (reader, writer) = (Descriptor(owning: ends[0]), Descriptor(owning: ends[1]))
  }

  /// Requests the stop, also while a child before `exec` has a copy of the socket.
  public func stop() { shutdown(writer.number, Int32(SHUT_RDWR)) }

  /// Waits; returns true on a stop.
  public func wait(for duration: Duration) -> Bool {
    let wait_ms = min(Double(Int32.max), max(0, (duration / .milliseconds(1)).rounded(.up)))
    return isReadable(descriptor, timeout_ms: Int32(wait_ms))
  }
}
