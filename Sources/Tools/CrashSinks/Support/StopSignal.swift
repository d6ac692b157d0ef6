import Glibc
public import LinuxSystem

/// A pair of sockets one of which is shut down when all is to end: every wait looks at the other end.
public final class StopSignal: Sendable {
  /// Hangs up when all is to end.
  public let descriptor: Int32
  let writer: Int32

  /// Nothing is to end yet.
  /// - Throws: `SystemError` when there are no descriptors left.
  public init() throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    // Two descriptors are written. (A pipe that no child inherits takes a call that Swift does not see.)
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemError("make a pair of sockets") }
    (descriptor, writer) = (ends[0], ends[1])
  }

  deinit {
    close(descriptor)
    close(writer)
  }

  /// Ends all, also where a child that is on its way to another program has a copy of the socket.
  public func stop() { shutdown(writer, Int32(SHUT_RDWR)) }

  /// Waits; true when all is to end.
  public func wait(for duration: Duration) -> Bool {
    let deadline = ContinuousClock.now + duration
    while true {
      let left_ms = (ContinuousClock.now.duration(to: deadline) / .milliseconds(1)).rounded(.up)
      var set = pollfd(fd: descriptor, events: 0, revents: 0)
      // One element, used during the call only. Waits of more than an hour are looked at anew.
      let count = unsafe poll(&set, 1, Int32(min(3_600_000, max(0, left_ms))))
      if count > 0 { return true }
      if left_ms <= 0 { return false }
    }
  }
}
