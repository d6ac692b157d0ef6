import Glibc

/// systemd's end of `sd_notify`.
final class NotificationSocket: Sendable {
  let path: String
  private let descriptor: FileDescriptor

  init(path: String) throws {
    self.path = path
    // A daemon that was killed left the name behind.
    unsafe unlink(path)
    descriptor = try UnixSocket.make(SOCK_DGRAM)
    try unsafe UnixSocket.withAddress(path) { address, size in
      guard unsafe bind(descriptor.number, address, size) == 0 else { throw SystemError("bind '\(path)'", errno) }
    }
  }

  /// Waits for `READY=1` among the notifications; throws when the process ends before it says so.
  func awaitReady(of process: ChildProcess) throws {
    while true {
      try descriptor.awaitInput { process.hasEnded }
      let message = String(decoding: try descriptor.read(4_096), as: UTF8.self)
      if message.split(separator: "\n").contains("READY=1") { return }
    }
  }
}

enum UnixSocket {
  static func make(_ type: __socket_type) throws -> FileDescriptor {
    try FileDescriptor(socket(AF_UNIX, Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0), from: "socket")
  }

  /// Lends the address of a path for one call.
  static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Void) throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw SystemError("socket path '\(path)'", ENAMETOOLONG)
    }
    // Shorter than the array, the rest of which is zero.
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    // sockaddr_un begins as every sockaddr does; the rebinding lasts for the call.
    try unsafe withUnsafePointer(to: address) { pointer in
      try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { try unsafe body($0, size) }
    }
  }
}
