internal import Glibc
internal import Hummingbird
internal import NIOCore

/// Where the pages are served: a port of loopback, or a Unix socket.
public enum ListenPlace: Equatable, Sendable, CustomStringConvertible {
  /// A port of loopback; 0 lets the kernel choose.
  case port(host: String, port: Int)
  /// A Unix socket that only the user can open, and for a reverse proxy also the group.
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

  /// Prints the link, or without a token only the path of the socket.
  func announce(_ address: SocketAddress?, token: String?) {
    guard let token else { return Self.print("Listening on \(self)\n") }
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
