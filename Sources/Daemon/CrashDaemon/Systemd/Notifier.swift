import CLinux
import Glibc
import ServiceLifecycle

/// Tells systemd how crashd is (sd_notify(3), without libsystemd).
///
/// Without `NOTIFY_SOCKET` it tells nobody.
struct Notifier: Service {
  private let path: String?

  init(environment: [String: String]) { path = environment["NOTIFY_SOCKET"] }

  /// Whether there is anybody to be told.
  var hasListener: Bool { path?.isEmpty == false }

  /// One of the last services to start and of the first to stop.
  func run() async throws {
    // What else there is to say is the status line's.
    send("READY=1")
    try await gracefulShutdown()
    // Who has not read for long, such as a test, must not keep crashd from ending.
    _ = connection()?.send("STOPPING=1\nSTATUS=Storing what is left")
  }

  /// Best effort, as sd_notify itself: systemd's own time-out notices what is missing.
  ///
  /// Waits while its queue is full.
  func send(_ text: String) { _ = send(text, []) }

  /// The same with descriptors; waits while systemd's queue is full.
  ///
  /// - Returns: Whether somebody took it.
  func send(_ text: String, _ descriptors: [Descriptor]) -> Bool {
    connect(flags: 0)?.send(text, descriptors) == true
  }

  /// A connection to keep, whose sending never waits; nil: there is nobody.
  func connection() -> NotifyConnection? { connect(flags: Int32(SOCK_NONBLOCK.rawValue)) }

  private func connect(flags: Int32) -> NotifyConnection? {
    guard let path, !path.isEmpty else { return nil }
    let number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | flags, 0)
    guard number >= 0 else { return nil }
    let socket = Descriptor(owning: number)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    // `@` stands for the zero that begins an abstract address.
    if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
    // Fits: checked above.
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    // A sockaddr_un may be read as the sockaddr that it begins with; the size is its own.
    let isConnected = unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe Glibc.connect(number, $0, size) == 0 }
    }
    return isConnected ? NotifyConnection(socket: socket) : nil
  }
}

/// An open connection to who is told.
struct NotifyConnection: Sendable {
  fileprivate let socket: Descriptor

  /// - Returns: Whether it was taken.
  func send(_ text: String, _ descriptors: [Descriptor] = []) -> Bool {
    let message = Array(text.utf8)
    let numbers = descriptors.map(\.number)
    // Both arrays have as many elements as the call is told; they and the descriptors live until it returns.
    return withExtendedLifetime((socket, descriptors)) {
      unsafe cd_socket_send(socket.number, message, message.count, numbers, numbers.count) == 0
    }
  }
}
