import Glibc
import LinuxSystem

/// A client of the metrics listener, without an HTTP library.
///
/// It sends bytes, and reads until the listener closes the connection.
enum TestScraper {
  /// Listens on a loopback port that the kernel chooses.
  static func listen() throws -> (descriptor: Descriptor, port: UInt16) {
    let descriptor = Self.socket()
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    // Invariant: the socket calls allow a sockaddr_in to be accessed as a sockaddr.
    let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(descriptor.number, address, length) == 0 && Glibc.listen(descriptor.number, 1) == 0
          && getsockname(descriptor.number, address, &length) == 0
      }
    }
    guard result else { throw SystemError("listen on loopback") }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  private static func socket() -> Descriptor {
    Descriptor(owning: Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0))
  }

  /// Connects to a loopback port.
  static func connect(_ port: UInt16) throws -> Descriptor {
    let descriptor = Self.socket()
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    address.sin_port = port.bigEndian
    // Invariant: the socket calls allow a sockaddr_in to be read as a sockaddr.
    let result = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe Glibc.connect(descriptor.number, address, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw SystemError("connect to the metrics") }
    return descriptor
  }

  /// Sends a request, and reads until the listener closes the connection.
  static func answer(_ port: UInt16, _ request: String) throws -> String {
    let connection = try connect(port)
    let bytes = Array(request.utf8)
    // Invariant: the pointer covers the array, and is used only during the call. Ignores a failure, because a listener
    // that refuses the connection can have closed it already.
    _ = unsafe send(connection.number, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    return try rest(of: connection)
  }

  /// Reads until the listener closes the connection.
  ///
  /// A connection reset also counts as the end of the data.
  static func rest(of connection: Descriptor) throws -> String {
    var text: [UInt8] = []
    while true {
      var chunk = [UInt8](repeating: 0, count: 64 << 10)
      // Invariant: the pointer covers the array, and is used only during the call.
      let count = unsafe recv(connection.number, &chunk, chunk.count, 0)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return String(decoding: text, as: UTF8.self) }
      text += chunk.prefix(count)
    }
  }
}
