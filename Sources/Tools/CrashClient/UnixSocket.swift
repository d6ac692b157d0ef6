import Glibc
import LinuxSystem

/// A connected stream socket.
///
/// Every wait has a deadline. If a signal interrupts a system call, the socket repeats it. Sending to a closed peer
/// does not cause a SIGPIPE.
final class UnixSocket {
  let path: String
  private let descriptor: Int32

  /// Takes ownership of a connected socket.
  init(adopting descriptor: Int32, path: String) throws(ClientError) {
    self.path = path
    self.descriptor = descriptor
    let flags = fcntl(descriptor, F_GETFL)
    guard flags >= 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 else {
      throw .unreachable(path: path, errno: errno)
    }
  }

  convenience init(connectingTo path: String, timeout: Duration) throws(ClientError) {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw .unreachable(path: path, errno: errno) }
    do throws(ClientError) {
      try Self.connect(descriptor, to: path, timeout: timeout)
    } catch {
      close(descriptor)
      throw error
    }
    try self.init(adopting: descriptor, path: path)
  }

  deinit { close(descriptor) }

  private static func connect(_ descriptor: Int32, to path: String, timeout: Duration) throws(ClientError) {
    guard let address = UnixAddress(path: path) else { throw .unreachable(path: path, errno: ENAMETOOLONG) }
    // A blocking `connect` waits until the listener's queue has room, at most for the send timeout (SO_SNDTIMEO).
    var limit = timeval(tv_sec: Int(max(1, timeout.components.seconds)), tv_usec: 0)
    // Invariant: setsockopt reads the pointer only during the call.
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    while true {
      let code = address.connect(descriptor)
      switch code {
      case 0: return
      case EINTR: continue
      case EAGAIN: throw .timedOut(path: path)
      default: throw .unreachable(path: path, errno: code)
      }
    }
  }

  /// Sends all given bytes, or throws an error.
  func send(_ bytes: [UInt8], until deadline: Deadline) throws(ClientError) {
    var sent = 0
    while sent < bytes.count {
      // Invariant: the pointer and the count cover `bytes`, and send uses the pointer only during the call.
      let count = unsafe bytes.withUnsafeBytes { buffer in
        let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[sent...])
        return unsafe Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
      }
      if count >= 0 {
        sent += count
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN: try wait(for: POLLOUT, until: deadline)
      case EPIPE, ECONNRESET: throw .closed(path: path)
      default: throw .failed(path: path, errno: errno)
      }
    }
  }

  /// Appends received bytes to `buffer`.
  ///
  /// Returns the number of received bytes, or 0 at the end of the stream.
  func receive(into buffer: inout [UInt8], until deadline: Deadline, watching: Int32? = nil) throws(ClientError)
    -> Int
  {
    while true {
      var error: Int32 = 0
      // Invariant: recv initializes the first `count` bytes of the array.
      let chunk = unsafe [UInt8](unsafeUninitializedCapacity: 64 << 10) { space, count in
        let received = unsafe recv(descriptor, space.baseAddress, space.count, 0)
        error = errno
        count = max(0, received)
        if received >= 0 { error = 0 }
      }
      switch error {
      case 0:
        buffer += chunk
        return chunk.count
      case EINTR: continue
      case EAGAIN: try wait(for: POLLIN, until: deadline, watching: watching)
      case ECONNRESET: throw .closed(path: path)
      default: throw .failed(path: path, errno: error)
      }
    }
  }

  /// Waits until the socket is ready.
  ///
  /// Throws `cancelled` if poll reports a hang-up of the descriptor `watching`.
  private func wait(for events: Int32, until deadline: Deadline, watching: Int32? = nil) throws(ClientError) {
    while true {
      // If `watching` is nil, poll receives a negative descriptor, which poll ignores.
      var set = [
        pollfd(fd: descriptor, events: Int16(events), revents: 0), pollfd(fd: watching ?? -1, events: 0, revents: 0),
      ]
      // Invariant: the array has two elements, and poll uses the pointer only during the call.
      let count = unsafe poll(&set, 2, deadline.pollTimeout_ms())
      if count < 0 && errno != EINTR { throw .failed(path: path, errno: errno) }
      guard count > 0 else {
        if deadline.isPast { throw .timedOut(path: path) }
        continue
      }
      if set[1].revents != 0 { throw .cancelled }
      return
    }
  }
}

/// The deadline of a wait.
enum Deadline {
  case never
  case at(ContinuousClock.Instant)

  static func after(_ duration: Duration) -> Deadline { .at(.now + duration) }

  var isPast: Bool {
    guard case .at(let instant) = self else { return false }
    return instant <= .now
  }

  /// Returns the timeout for poll in milliseconds: -1 for no limit, otherwise at most a minute.
  ///
  /// The timeout is rounded up, because a timeout of 0 ms shortly before the deadline would cause a busy loop.
  func pollTimeout_ms() -> Int32 {
    guard case .at(let instant) = self else { return -1 }
    let left = ContinuousClock.now.duration(to: instant)
    let milliseconds = left / .milliseconds(1)
    return Int32(min(60_000, max(0, milliseconds.rounded(.up))))
  }
}
