import CLinux
import Glibc

/// Notifies systemd of a service's state (sd_notify(3), without libsystemd).
///
/// Without `NOTIFY_SOCKET` it does nothing.
public struct Notifier: Sendable {
  private let path: String?
  private let timeout_ms: Int?

  /// - Parameters:
  ///   - environment: Of this process.
  ///   - timeout_ms: How long a message may wait while systemd's queue is full; nil: for ever.
  public init(environment: [String: String], timeout_ms: Int? = nil) {
    path = environment["NOTIFY_SOCKET"]
    self.timeout_ms = timeout_ms
  }

  /// Whether a socket is named.
  public var hasListener: Bool { path?.isEmpty == false }

  /// Best effort, as sd_notify itself: systemd's own time-out notices what is missing.
  ///
  /// Waits while its queue is full.
  public func send(_ text: String) { _ = send(text, []) }

  /// The same with descriptors; waits while systemd's queue is full.
  ///
  /// - Returns: Whether systemd's queue took it.
  public func send(_ text: String, _ descriptors: [Descriptor]) -> Bool {
    connect(flags: 0)?.send(text, descriptors) == true
  }

  /// A connection to keep, whose sending never waits; nil: there is no socket.
  public func connection() -> NotifyConnection? { connect(flags: Int32(SOCK_NONBLOCK.rawValue)) }

  private func connect(flags: Int32) -> NotifyConnection? {
    guard let path, let address = UnixAddress(pathOrName: path) else { return nil }
    let number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | flags, 0)
    guard number >= 0 else { return nil }
    let socket = Descriptor(owning: number)
    if let timeout_ms {
      var limit = timeval(tv_sec: timeout_ms / 1_000, tv_usec: timeout_ms % 1_000 * 1_000)
      // The structure is read during the call only.
      _ = unsafe setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    return address.connect(number) == 0 ? NotifyConnection(socket: socket) : nil
  }
}

/// An open connection to systemd.
public struct NotifyConnection: Sendable {
  fileprivate let socket: Descriptor

  /// - Returns: Whether it was taken.
  public func send(_ text: String, _ descriptors: [Descriptor] = []) -> Bool {
    let message = Array(text.utf8)
    let numbers = descriptors.map(\.number)
    // Both arrays have as many elements as the call says; they and the descriptors live until it returns.
    return withExtendedLifetime((socket, descriptors)) {
      unsafe cd_socket_send(socket.number, message, message.count, numbers, numbers.count) == 0
    }
  }
}
