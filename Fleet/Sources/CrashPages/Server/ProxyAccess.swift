internal import HTTPTypes

/// Lets a reverse proxy decide who is allowed to read the pages.
///
/// The proxy authenticates the users, and sets a header to the name of the user in each request. The proxy must replace
/// this header if a client sends it. The pages must be on a Unix socket that only the proxy can open: every user of the
/// machine can send the header to a port of loopback.
public struct ProxyAccess: Sendable {
  private static let limitBytes = 256

  private let header: HTTPField.Name

  /// Creates the access control that reads the user's name from a header, such as `Remote-User`; nil if the header's
  /// name is not valid.
  public init?(header: String) {
    guard let name = HTTPField.Name(header) else { return nil }
    self.header = name
  }

  /// Checks that the proxy has named a user.
  ///
  /// Several values mean that the proxy has added its value to a value that the client sent. Without a user, Apache
  /// sends `(null)`, and other proxies send the name of their variable for the user, such as `$user`.
  func check(_ fields: HTTPFields) throws(PageAccess.Refusal) {
    let values = fields[values: header]
    guard values.count == 1, let user = values.first?.drop(while: \.isWhitespace), let first = user.first,
      !"({$%".contains(first), user.utf8.count <= Self.limitBytes
    else { throw .noUser(header: header.rawName) }
  }
}
