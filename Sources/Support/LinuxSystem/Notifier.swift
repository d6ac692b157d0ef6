/// Notifies systemd of a service's state (sd_notify(3), without libsystemd).
///
/// If `NOTIFY_SOCKET` is not set, messages are not sent.
public struct Notifier: Sendable {
  private let path: String?
  private let timeout_ms: Int?

  /// - Parameters:
  ///   - environment: The environment of this process.
  ///   - timeout_ms: The maximum time for which a message waits while systemd's queue is full. If nil, the time is
  ///     unlimited.
  public init(environment: [String: String], timeout_ms: Int? = nil) {
    path = environment["NOTIFY_SOCKET"]
    self.timeout_ms = timeout_ms
  }

  /// Whether `NOTIFY_SOCKET` is set.
  public var hasListener: Bool { path?.isEmpty == false }

  /// Sends a message by best effort, as sd_notify does.
  ///
  /// Errors are ignored, because systemd detects missing messages by its own timeout.
  ///
  /// The call blocks while systemd's queue is full.
  public func send(_ text: String) { _ = send(text, []) }

  /// Sends a message with descriptors.
  ///
  /// The call blocks while systemd's queue is full.
  ///
  /// - Returns: Whether systemd's queue accepted the message.
  public func send(_ text: String, _ descriptors: [Descriptor]) -> Bool {
    connect(waits: true)?.send(text, descriptors) == true
  }

  /// Returns a permanent connection, whose sends never block; nil if the socket does not exist.
  public func connection() -> DatagramSocket? { connect(waits: false) }

  private func connect(waits: Bool) -> DatagramSocket? {
    // Ignore an error, because there is no receiver if systemd did not start the process.
    path.flatMap { try? DatagramSocket($0, waits: waits, timeout_ms: timeout_ms) }
  }
}
