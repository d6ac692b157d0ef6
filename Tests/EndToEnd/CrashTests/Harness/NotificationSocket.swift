import Glibc
import LinuxSystem

/// systemd's end of `sd_notify`.
final class NotificationSocket: Sendable {
  let path: String
  private let socket: NotifySocket

  init(path: String) throws {
    self.path = path
    // A daemon that was killed left the name behind.
    unsafe unlink(path)
    socket = try NotifySocket(path: path)
  }

  /// Waits for `READY=1` among the notifications; throws when the process ends before it says so.
  func awaitReady(of process: ChildProcess) throws {
    while true {
      try FileDescriptor.awaitInput(of: socket.descriptor.number) { process.hasEnded }
      if socket.isReadyMessage() { return }
    }
  }
}

enum UnixSocket {
  static func make(_ type: __socket_type) throws -> FileDescriptor {
    try FileDescriptor(Glibc.socket(AF_UNIX, Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0), from: "socket")
  }
}
