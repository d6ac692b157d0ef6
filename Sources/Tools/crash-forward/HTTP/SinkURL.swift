/// The parts of an `http` or `https` URL.
struct SinkURL: Sendable, Equatable {
  /// The scheme, with `://`.
  var scheme: String
  /// The part before `@`, which is a secret.
  var user: String?
  /// The host, with the port if the URL contains one.
  ///
  /// Log messages contain only this part of the URL.
  var host: String
  /// The path, which is empty or begins with `/`.
  ///
  /// The path includes the query, if queries are allowed.
  var path: String

  /// Fails if the text is not a valid `http` or `https` URL, or has a query although queries are not allowed.
  init?(_ text: String, allowsQuery: Bool = false) {
    guard let scheme = ["http://", "https://"].first(where: { text.hasPrefix($0) }),
      text.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
    else { return nil }
    let rest = text.dropFirst(scheme.count)
    var authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let path = rest[authority.endIndex...]
    guard !path.contains("#"), allowsQuery || !path.contains("?") else { return nil }
    if let at = authority.lastIndex(of: "@") {
      user = String(authority[..<at])
      authority = authority[authority.index(after: at)...]
    }
    guard !authority.isEmpty, !authority.hasPrefix(":") else { return nil }
    (self.scheme, host, self.path) = (scheme, String(authority), String(path))
  }
}
