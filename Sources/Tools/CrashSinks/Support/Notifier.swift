import CLinux

/// Tells systemd how all is (sd_notify(3), without libsystemd); without `NOTIFY_SOCKET` nobody.
public struct Notifier: Sendable {
  private let path: String?

  /// - Parameter environment: Of this process.
  public init(environment: [String: String]) {
    path = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Best effort, as sd_notify itself: systemd's own time-out notices what is missing.
  public func send(_ text: String) {
    guard let path else { return }
    let bytes = Array(text.utf8)
    var form = CS_DATAGRAM_PLAIN
    // The call reads as many bytes as the array has, and writes one word.
    _ = unsafe cs_datagram_send(path, bytes, bytes.count, nil, 1_000, &form)
  }
}
