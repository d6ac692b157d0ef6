import Glibc
public import LinuxSystem

/// A stop request, implemented as a pair of sockets.
///
/// `stop` shuts down one socket, and every wait polls the other socket.
public final class StopSignal: Sendable {
  private let reader: Descriptor
  let writer: Descriptor

  /// The descriptor that reports a hang-up after `stop`.
  public var descriptor: Int32 { reader.number }

  /// Creates the pair of sockets; a stop is not requested yet.
  /// - Throws: `SystemError` if no descriptor is available.
  public init() throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    // Use sockets instead of a pipe, because a pipe with O_CLOEXEC needs pipe2, which Swift's Glibc module does not
    // export. Invariant: socketpair writes two descriptors.
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemError("make a pair of sockets") }
    (reader, writer) = (Descriptor(owning: ends[0]), Descriptor(owning: ends[1]))
  }

  /// Requests the stop.
  ///
  /// Shutting the socket down works even while a child between fork and exec has a copy of the descriptor.
  public func stop() { shutdown(writer.number, Int32(SHUT_RDWR)) }

  /// Waits for a duration.
  ///
  /// Returns true if a stop was requested.
  public func wait(for duration: Duration) -> Bool {
    let wait_ms = min(Double(Int32.max), max(0, (duration / .milliseconds(1)).rounded(.up)))
    return isReadable(descriptor, timeout_ms: Int32(wait_ms))
  }
}
