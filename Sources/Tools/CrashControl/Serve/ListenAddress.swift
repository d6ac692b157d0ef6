internal import LinuxSystem

/// An address of `serve --listen`: `[NAME=][HOST:]PORT` or `[NAME=]PATH`.
public struct ListenAddress: Sendable, Equatable {
  enum Place: Equatable {
    /// A port on all addresses of the machine.
    case any(port: UInt16)
    case ipv4(host: String, port: UInt16)
    case ipv6(host: String, port: UInt16)
    case path(String)
  }

  /// The reason why a string is not an address.
  public struct Invalid: Error, Equatable {
    /// The reason, as part of an error message.
    public var reason: String
  }

  /// The name that the program reads in `LISTEN_FDNAMES`.
  let name: String
  let place: Place

  /// Parses an address.
  ///
  /// A host is a number such as `127.0.0.1` or `[::1]`. A host name is invalid, because it can have several addresses.
  /// A path contains a slash.
  public init(_ text: String) throws(Invalid) {
    var rest = text[...]
    if let sign = text.firstIndex(of: "="), Self.isName(text[..<sign]) {
      name = String(text[..<sign])
      rest = text[text.index(after: sign)...]
    } else {
      name = "unknown"
    }
    place = try Self.place(rest)
  }

  private static func isName(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.count <= 255
      && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
  }

  private static func place(_ text: Substring) throws(Invalid) -> Place {
    if text.contains("/") {
      guard UnixAddress(path: String(text)) != nil else {
        throw Invalid(reason: "the path is too long for a socket")
      }
      return .path(String(text))
    }
    let colon = text.lastIndex(of: ":")
    let digits = colon.map { text[text.index(after: $0)...] } ?? text
    guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { throw Invalid(notPort: text) }
    guard let port = UInt16(digits) else { throw Invalid(reason: "the port is not 0 to 65535") }
    guard let colon else { return .any(port: port) }
    let host = text[..<colon]
    if host.isEmpty { throw Invalid(reason: "for all addresses, give only the port: \(port)") }
    if host.hasPrefix("["), host.hasSuffix("]") {
      let number = String(host.dropFirst().dropLast())
      guard InternetAddress(ipv6: number, port: port) != nil else {
        throw Invalid(reason: "'\(number)' is not an IPv6 address")
      }
      return .ipv6(host: number, port: port)
    }
    guard InternetAddress(ipv4: String(host), port: port) != nil else {
      throw Invalid(reason: "a host is an IPv4 address, or an IPv6 address in brackets, such as [::1]")
    }
    return .ipv4(host: String(host), port: port)
  }
}

extension ListenAddress.Invalid {
  /// Explains why a text is not an address, if the text has no slash and does not end with a port.
  fileprivate init(notPort text: Substring) {
    let isHost = InternetAddress(ipv4: String(text), port: 0) != nil || text.hasSuffix("]")
    self.init(
      reason: isHost
        ? "the port is missing, such as \(text):8080"
        : "it does not end with a port; the path of a Unix socket contains a slash, such as ./\(text)")
  }
}
