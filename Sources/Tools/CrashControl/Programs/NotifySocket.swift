import Glibc
internal import LinuxSystem

/// The socket on which a service says that it is ready, as systemd's NOTIFY_SOCKET.
struct NotifySocket: ~Copyable {
  let path: String
  let descriptor: Int32

  init(path: String) throws(Failure) {
    self.path = path
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw Failure(.unreachable, "'\(path)' is too long for a socket: set TMPDIR to a shorter directory")
    }
    // The count was compared with the field's size above; the rest of the field stays zero.
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in unsafe field.copyBytes(from: bytes) }
    // A sockaddr_un may be read as a sockaddr: that is what the socket calls are declared for.
    let result = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else { throw Failure(.unreachable, "cannot bind '\(path)' (\(SystemError.text(errno)))") }
  }

  deinit { close(descriptor) }

  /// Whether the next message says that the service is ready.
  func isReadyMessage() -> Bool {
    // What came is the first `count` bytes.
    let message = unsafe [UInt8](unsafeUninitializedCapacity: 4096) { space, count in
      count = max(0, unsafe recv(descriptor, space.baseAddress, space.count, Int32(MSG_DONTWAIT)))
    }
    return String(decoding: message, as: UTF8.self).split(separator: "\n").contains("READY=1")
  }
}
