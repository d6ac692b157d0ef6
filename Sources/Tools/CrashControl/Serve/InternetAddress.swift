import Glibc
internal import LinuxSystem

/// The address of a TCP socket.
enum InternetAddress {
  case ipv4(sockaddr_in)
  case ipv6(sockaddr_in6)

  /// Fails if the host is not an address in digits.
  init?(ipv4 host: String, port: UInt16) {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    // Invariant: inet_pton reads the string and fills in the address during the call.
    guard unsafe inet_pton(AF_INET, host, &address.sin_addr) == 1 else { return nil }
    self = .ipv4(address)
  }

  /// Fails if the host is not an address in digits.
  init?(ipv6 host: String, port: UInt16) {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = port.bigEndian
    // Invariant: inet_pton reads the string and fills in the address during the call.
    guard unsafe inet_pton(AF_INET6, host, &address.sin6_addr) == 1 else { return nil }
    self = .ipv6(address)
  }

  var family: Int32 {
    switch self {
    case .ipv4: AF_INET
    case .ipv6: AF_INET6
    }
  }

  /// Binds the socket.
  ///
  /// Returns 0, or an errno.
  func bind(_ socket: Int32) -> Int32 {
    switch self {
    case .ipv4(let address): Self.bind(socket, address)
    case .ipv6(let address): Self.bind(socket, address)
    }
  }

  private static func bind<Address>(_ socket: Int32, _ address: Address) -> Int32 {
    // Invariant: each address begins with the fields of a sockaddr, the size is the size of the address, and bind uses
    // the pointer only during the call.
    unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe Glibc.bind(socket, $0, socklen_t(MemoryLayout<Address>.size)) == 0 ? 0 : errno
      }
    }
  }

  /// Returns the port of a bound socket, which the kernel chose if the port of the address was 0.
  static func port(of socket: Int32) -> UInt16 {
    var address = sockaddr_in6()
    var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    // Invariant: getsockname writes at most `size` bytes, during the call. The port is at the same offset in the
    // addresses of both families.
    let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(socket, $0, &size) }
    }
    return code == 0 ? UInt16(bigEndian: address.sin6_port) : 0
  }
}
