/// Notifies systemd of a service's state (sd_notify(3), without libsystemd).
///
/// Without `NOTIFY_SOCKET` it does nothing.
public struct Notifier: Sendable {
  private let path: String?
  private let timeout_ms: Int?

  /// - Parameters:
  ///   - environment: The environment of this process.
  ///   - timeout_ms: How long a message may wait while systemd's queue is full; nil: for ever.
  public init(environment: [String: String], timeout_ms: Int? = nil) {
    path = environment["NOTIFY_SOCKET"]
    self.timeout_ms = timeout_ms
  }

  /// Whether the environment names a socket.
  public var hasListener: Bool { path?.isEmpty == false }

  /// Best effort, as sd_notify itself: systemd's own time-out detects missing messages.
  ///
  /// Blocks while systemd's queue is full.
  public func send(_ text: String) { _ = send(text, []) }

  /// The same with descriptors; blocks while systemd's queue is full.
  ///
  /// - Returns: Whether systemd's queue accepted it.
  public func send(_ text: String, _ descriptors: [Descriptor]) -> Bool {
    connect(waits: true)?.send(text, descriptors) == true
  }

  /// A connection to keep, which never blocks; nil: there is no socket.
  public func connection() -> DatagramSocket? { connect(waits: false) }

  private func connect(waits: Bool) -> DatagramSocket? {
    // Without systemd there is no receiver.
    path.flatMap { try? DatagramSocket($0, waits: waits, timeout_ms: timeout_ms) }
  }
}
