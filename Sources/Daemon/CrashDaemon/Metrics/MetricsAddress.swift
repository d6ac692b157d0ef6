import NIOCore

/// The address at which a client can scrape the metrics, such as `127.0.0.1:9779`.
struct MetricsAddress: Sendable, Hashable {
  var host: String
  /// The TCP port.
  ///
  /// If the port is 0, the kernel chooses a free port, and crashd logs this port.
  var port: Int

  /// Parses a numeric address and a port.
  ///
  /// Host names are rejected, because a name could resolve to an address that other machines can reach.
  init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65_535).contains(port)
    else { return nil }
    var host = String(text[..<colon])
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = String(host.dropFirst().dropLast())
    } else if host.contains(":") {
      return nil
    }
    guard let address = try? SocketAddress(ipAddress: host, port: port), let numeric = address.ipAddress else {
      return nil
    }
    (self.host, self.port) = (numeric, port)
  }

  /// Whether only processes on this machine can reach the address.
  var isLoopback: Bool { host == "::1" || (host.hasPrefix("127.") && !host.contains(":")) }

  /// Returns the URL of a listener that is bound to the given address.
  static func url(of address: SocketAddress) -> String {
    let host = address.ipAddress ?? ""
    return "http://\(host.contains(":") ? "[\(host)]" : host):\(address.port ?? 0)/metrics"
  }

  @Sendable static func isLoopback(_ text: String) -> Bool { MetricsAddress(text)?.isLoopback == true }
  @Sendable static func isAddress(_ text: String) -> Bool { MetricsAddress(text) != nil }
}
