import Glibc

/// The address of a Unix socket.
public struct UnixAddress: Sendable {
  private var address = sockaddr_un()
  private var size = socklen_t(MemoryLayout<sockaddr_un>.size)

  /// Creates the address of a path.
  ///
  /// Fails if the path is too long for an address.
  public init?(path: String) {
    self.init(Array(path.utf8))
  }

  /// Creates the address of a path, or of an abstract name that begins with `@`, as in `NOTIFY_SOCKET`.
  public init?(pathOrName text: String) {
    self.init(Array(text.utf8))
    guard text.hasPrefix("@") else { return }
    // In the address, an abstract name begins with a zero byte instead of the `@`, and does not end with a zero byte.
    address.sun_path.0 = 0
    size = socklen_t(MemoryLayout<sa_family_t>.size + text.utf8.count)
  }

  private init?(_ bytes: [UInt8]) {
    guard !bytes.isEmpty, bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0) else {
      return nil
    }
    address.sun_family = sa_family_t(AF_UNIX)
    // Invariant: the length check of this initializer ensures that the path and its zero byte fit into sun_path.
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
  }

  /// Binds the socket.
  ///
  /// Returns 0, or an errno.
  public func bind(_ socket: Int32) -> Int32 { unsafe call(socket, Glibc.bind) }

  /// Connects the socket.
  ///
  /// Returns 0, or an errno.
  public func connect(_ socket: Int32) -> Int32 { unsafe call(socket, Glibc.connect) }

  private func call(_ socket: Int32, _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    // Invariant: a sockaddr_un can be passed as a sockaddr, because it has the same first field, and the size is that
    // of the sockaddr_un.
    unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe function(socket, $0, size) == 0 ? 0 : errno
      }
    }
  }
}
