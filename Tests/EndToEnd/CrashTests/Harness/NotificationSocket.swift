import Glibc
import LinuxSystem

/// The socket that receives `sd_notify` messages, in place of systemd.
final class NotificationSocket: Sendable {
  let path: String
  private let socket: NotifySocket

  init(path: String) throws {
    self.path = path
    // A daemon that was killed earlier can have left a socket file at this path.
    unsafe unlink(path)
    socket = try NotifySocket(path: path)
  }

  /// Waits for the notification `READY=1`.
  ///
  /// Throws if the process ends before it sends the notification.
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
