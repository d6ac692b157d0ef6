import Glibc

/// The address of a Unix socket.
public struct UnixAddress: Sendable {
  private var address = sockaddr_un()
  private var size = socklen_t(MemoryLayout<sockaddr_un>.size)

  /// A path in the file system; nil where it is too long for an address.
  public init?(path: String) {
    self.init(Array(path.utf8))
  }

  /// A path, or an abstract name that begins with `@`, as `NOTIFY_SOCKET` has it.
  public init?(pathOrName text: String) {
    self.init(Array(text.utf8))
    guard text.hasPrefix("@") else { return }
    // Replaces the `@` by the zero that begins an abstract name, which has no zero at its end.
    address.sun_path.0 = 0
    size = socklen_t(MemoryLayout<sa_family_t>.size + text.utf8.count)
  }

  private init?(_ bytes: [UInt8]) {
    guard !bytes.isEmpty, bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0) else {
      return nil
    }
    address.sun_family = sa_family_t(AF_UNIX)
    // The path and its zero fit into sun_path: checked above.
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
  }

  /// Binds the socket; returns 0, or an errno.
  public func bind(_ socket: Int32) -> Int32 { unsafe call(socket, Glibc.bind) }

  /// Connects the socket; returns 0, or an errno.
  public func connect(_ socket: Int32) -> Int32 { unsafe call(socket, Glibc.connect) }

  private func call(_ socket: Int32, _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    // A sockaddr_un may be read as the sockaddr that it begins with; the size is its own.
    unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe function(socket, $0, size) == 0 ? 0 : errno
      }
    }
  }
}
