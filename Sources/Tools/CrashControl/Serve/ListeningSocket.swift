internal import CLinux
import Glibc
internal import LinuxSystem

/// A listening socket that `crashctl serve` holds open, and that each process of the server inherits.
///
/// crashctl never calls `shutdown` on the socket, and keeps the descriptor open until crashctl itself ends. While no
/// process of the server runs, the kernel therefore queues new connections for the next process.
struct ListeningSocket {
  let descriptor: Descriptor
  /// The name that the program reads in `LISTEN_FDNAMES`.
  let name: String
  /// The address with the port that the kernel chose, for messages.
  let text: String
  /// The file of a Unix socket, and its inode; nil for a TCP socket.
  private let file: (path: String, inode: ino_t)?

  /// Opens the socket.
  ///
  /// - Throws: `SystemError` if the address is in use, or if this process is not allowed to bind it.
  init(_ address: ListenAddress) throws(SystemError) {
    name = address.name
    switch address.place {
    case .any(let port):
      descriptor = try Self.open(anyAddressWithPort: port)
      text = "port \(InternetAddress.port(of: descriptor.number))"
      file = nil
    case .ipv4(let host, let port):
      descriptor = try Self.open(InternetAddress(ipv4: host, port: port), "\(host):\(port)")
      text = "\(host):\(InternetAddress.port(of: descriptor.number))"
      file = nil
    case .ipv6(let host, let port):
      descriptor = try Self.open(InternetAddress(ipv6: host, port: port), "[\(host)]:\(port)")
      text = "[\(host)]:\(InternetAddress.port(of: descriptor.number))"
      file = nil
    case .path(let path):
      descriptor = try Self.open(path: path)
      text = path
      file = Self.inode(of: path).map { (path, $0) }
    }
  }

  /// Opens a port on all IPv6 and IPv4 addresses, or on all IPv4 addresses if this machine has no IPv6.
  private static func open(anyAddressWithPort port: UInt16) throws(SystemError) -> Descriptor {
    do throws(SystemError) {
      return try open(InternetAddress(ipv6: "::", port: port), "port \(port)", acceptsIPv4: true)
    } catch {
      guard [EAFNOSUPPORT, EADDRNOTAVAIL].contains(error.code) else { throw error }
      return try open(InternetAddress(ipv4: "0.0.0.0", port: port), "port \(port)")
    }
  }

  private static func open(
    _ address: InternetAddress?, _ text: String, acceptsIPv4: Bool = false
  ) throws(SystemError) -> Descriptor {
    let what = "listen on \(text)"
    guard let address else { throw SystemError(what, code: EINVAL) }
    let descriptor = try make(address.family, what)
    // Without this option, the bind fails while connections of an earlier server are in the state TIME_WAIT.
    try set(SO_REUSEADDR, of: SOL_SOCKET, to: 1, descriptor, what)
    if acceptsIPv4 { try set(IPV6_V6ONLY, of: Int32(IPPROTO_IPV6), to: 0, descriptor, what) }
    try SystemError.check(address.bind(descriptor.number), what)
    try listen(descriptor, what)
    return descriptor
  }

  private static func open(path: String) throws(SystemError) -> Descriptor {
    let what = "listen on '\(path)'"
    guard let address = UnixAddress(path: path) else { throw SystemError(what, code: ENAMETOOLONG) }
    let descriptor = try make(AF_UNIX, what)
    var code = address.bind(descriptor.number)
    if code == EADDRINUSE, isLeftOver(path, address) {
      // Invariant: unlink reads the path only during the call.
      guard unsafe unlink(path) == 0 else { throw SystemError("remove '\(path)'") }
      code = address.bind(descriptor.number)
    }
    try SystemError.check(code, what)
    try listen(descriptor, what)
    return descriptor
  }

  /// Returns whether the file is a socket on which no process listens.
  private static func isLeftOver(_ path: String, _ address: UnixAddress) -> Bool {
    guard inode(of: path) != nil else { return false }
    // Do not block, because a blocking connect would wait for a server whose queue is full.
    let number = socket(
      AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
    guard number >= 0 else { return false }
    defer { close(number) }
    return address.connect(number) == ECONNREFUSED
  }

  /// Returns the inode of a socket's file, or nil if the file is not a socket.
  private static func inode(of path: String) -> ino_t? {
    var status = stat()
    // Invariant: lstat reads the path and fills in the structure during the call.
    guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
    return status.st_ino
  }

  private static func make(_ family: Int32, _ what: String) throws(SystemError) -> Descriptor {
    let number = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { throw SystemError(what) }
    return Descriptor(owning: number)
  }

  private static func set(
    _ option: Int32, of level: Int32, to value: Int32, _ descriptor: Descriptor, _ what: String
  ) throws(SystemError) {
    var value = value
    // Invariant: setsockopt reads the four bytes of the value during the call.
    let code = unsafe setsockopt(descriptor.number, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    guard code == 0 else { throw SystemError(what) }
  }

  private static func listen(_ descriptor: Descriptor, _ what: String) throws(SystemError) {
    // The kernel lowers the length of the queue to net.core.somaxconn.
    guard Glibc.listen(descriptor.number, Int32.max) == 0 else { throw SystemError(what) }
  }

  /// Removes the file of a Unix socket, unless another process has replaced it.
  func removeFile() {
    guard let file, Self.inode(of: file.path) == file.inode else { return }
    // Invariant: unlink reads the path only during the call.
    _ = unsafe unlink(file.path)
  }

  /// The maximum number of sockets that a program gets.
  static let limit = CS_PROCESS_SOCKET_LIMIT

  /// Returns the environment variables of sd_listen_fds(3).
  ///
  /// The child replaces the digits of `LISTEN_PID` by its pid, which is unknown before the fork. Without sockets, the
  /// dictionary is empty.
  static func variables(of sockets: [ListeningSocket]) -> [String: String] {
    if sockets.isEmpty { return [:] }
    return [
      "LISTEN_PID": String(repeating: "0", count: CS_PROCESS_PID_DIGITS),
      "LISTEN_FDS": "\(sockets.count)",
      "LISTEN_FDNAMES": sockets.map(\.name).joined(separator: ":"),
    ]
  }
}
