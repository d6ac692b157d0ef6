import CLinux
import Glibc

/// A connected Unix datagram socket, for example to systemd or journald.
public struct DatagramSocket: Sendable {
  private let socket: Descriptor

  /// Connects to a path, or to an abstract name that begins with `@`.
  ///
  /// A send blocks while the receiver's queue is full, but not longer than the timeout. If `waits` is false, a send
  /// never blocks.
  public init(_ pathOrName: String, waits: Bool = true, timeout_ms: Int? = nil) throws(SystemError) {
    let what = "connect to '\(pathOrName)'"
    guard let address = UnixAddress(pathOrName: pathOrName) else {
      throw SystemError(what, code: pathOrName.isEmpty ? EINVAL : ENAMETOOLONG)
    }
    let flags = Int32(SOCK_CLOEXEC.rawValue) | (waits ? 0 : Int32(SOCK_NONBLOCK.rawValue))
    let number = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | flags, 0)
    guard number >= 0 else { throw SystemError(what) }
    socket = Descriptor(owning: number)
    if let timeout_ms {
      var limit = timeval(tv_sec: timeout_ms / 1_000, tv_usec: timeout_ms % 1_000 * 1_000)
      // Invariant: setsockopt reads the structure only during the call.
      _ = unsafe setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    try SystemError.check(address.connect(number), what)
  }

  /// Sends one datagram.
  ///
  /// Returns 0, or an errno.
  public func send(_ bytes: [UInt8], _ descriptors: [Descriptor] = []) -> Int32 {
    let numbers = descriptors.map(\.number)
    // Invariant: each count is the count of its array, and the arrays and the descriptors outlive the call.
    return withExtendedLifetime((socket, descriptors)) {
      unsafe cd_socket_send(socket.number, bytes, bytes.count, numbers, numbers.count)
    }
  }

  /// Sends a string as one datagram.
  ///
  /// - Returns: Whether the receiver's queue accepted the datagram.
  public func send(_ text: String, _ descriptors: [Descriptor] = []) -> Bool {
    send(Array(text.utf8), descriptors) == 0
  }
}
