internal import Glibc
internal import Hummingbird
internal import NIOCore

/// Where the pages are served: a port of loopback, or a Unix socket.
public enum ListenPlace: Equatable, Sendable, CustomStringConvertible {
  /// A port of loopback; 0 lets the kernel choose.
  case port(host: String, port: Int)
  /// A Unix socket that only the user can open.
  case socket(path: String)

  /// Parses `PORT`, `HOST:PORT` or a path with a slash; nil for any other text, and for a host that is not loopback.
  public init?(_ text: String) {
    if text.contains("/") {
      // The path of a Unix socket has at most 107 bytes.
      guard text.utf8.count <= 107 else { return nil }
      self = .socket(path: text)
      return
    }
    let hosts = ["127.0.0.1", "localhost", "[::1]"]
    let host = hosts.first { text.hasPrefix($0 + ":") }
    let digits = text.dropFirst(host.map { $0.count + 1 } ?? 0)
    guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let port = UInt16(digits) else {
      return nil
    }
    self = .port(host: host == "[::1]" ? "::1" : "127.0.0.1", port: Int(port))
  }

  /// The port or the path.
  public var description: String {
    switch self {
    case .port(let host, let port): "\(host):\(port)"
    case .socket(let path): path
    }
  }

  var address: BindAddress {
    switch self {
    case .port(let host, let port): .hostname(host, port: port)
    case .socket(let path): .unixDomainSocket(path: path)
    }
  }

  /// Restricts access to a Unix socket to this user, and removes a socket on which no process listens.
  func prepare() throws {
    guard case .socket(let path) = self else { return }
    umask(0o177)
    var status = stat()
    // Invariant: lstat reads the path and fills in the structure only during the call.
    guard unsafe lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK, !Self.isListening(path) else {
      throw StartFailure(text: "'\(path)' exists, and is in use or not a socket")
    }
    remove()
  }

  func remove() {
    // Invariant: unlink reads the path only during the call.
    if case .socket(let path) = self { unsafe unlink(path) }
  }

  private static func isListening(_ path: String) -> Bool {
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return true }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // Invariant: the path has at most 107 bytes, so a null character follows it in the 108 bytes of the structure.
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    // Invariant: sockaddr_un begins with the fields of sockaddr, and connect reads it only during the call.
    return unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
  }

  /// Prints the link.
  func announce(_ address: SocketAddress?, token: String) {
    switch self {
    case .port(let host, _):
      let name = host == "::1" ? "[::1]" : host
      Self.print("Open http://\(name):\(address?.port ?? 0)/login?token=\(token)\n")
      Self.print("The link opens one session. Stop with Ctrl-C.\n")
    case .socket(let path):
      Self.print("Listening on \(path)\n")
      Self.print("Forward it, for example: ssh -L 8080:\(path) HOST\n")
      Self.print("Open http://127.0.0.1:8080/login?token=\(token)\n")
    }
  }

  private static func print(_ text: String) {
    let bytes = Array(text.utf8)
    // Invariant: write reads the bytes only during the call. If standard output is closed, the pages still work.
    _ = unsafe write(STDOUT_FILENO, bytes, bytes.count)
  }
}
