import Glibc

/// The socket of a service manager for sd_notify(3), which `NOTIFY_SOCKET` names.
public struct NotifySocket: Sendable {
  /// The path of the socket.
  public let path: String
  /// The descriptor, which becomes readable when a message arrives.
  public let descriptor: Descriptor

  /// Binds the socket.
  ///
  /// Fails with ENAMETOOLONG if the path is too long for a socket.
  public init(path: String) throws(SystemError) {
    let number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { throw SystemError("make a socket") }
    self.path = path
    descriptor = Descriptor(owning: number)
    guard let address = UnixAddress(path: path) else { throw SystemError("bind '\(path)'", code: ENAMETOOLONG) }
    try SystemError.check(address.bind(number), "bind '\(path)'")
  }

  /// Returns the next message, or an empty string if no message has arrived.
  public func message() -> String {
    // Invariant: recv initializes the first `count` bytes, which are the message.
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 4096) { space, count in
      count = max(0, unsafe recv(descriptor.number, space.baseAddress, space.count, Int32(MSG_DONTWAIT)))
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns whether the next message reports that the service is ready.
  public func isReadyMessage() -> Bool { message().split(separator: "\n").contains("READY=1") }
}
