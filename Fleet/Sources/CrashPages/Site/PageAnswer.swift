/// An HTTP request for a page.
public struct PageRequest: Sendable, Equatable {
  /// The path, still percent-encoded, without the query.
  public var path: String
  /// The parameters of the query.
  ///
  /// If several parameters have the same name, the first one counts.
  public var query: [String: String]

  /// Creates a request from the target of an HTTP request, such as `/issues?q=shop`.
  public init(target: String) {
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(parts.first ?? "/")
    let pairs = parts.count > 1 ? parts[1].split(separator: "&").prefix(32) : []
    query = Dictionary(
      pairs.map { pair in
        let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (
          PagePath.decode(halves[0], isQuery: true), halves.count > 1 ? PagePath.decode(halves[1], isQuery: true) : ""
        )
      }, uniquingKeysWith: { first, _ in first })
  }
}

/// The response to a request: a page, or another file of the site.
public struct PageAnswer: Sendable, Equatable {
  /// The HTTP status.
  public var status = 200
  /// The media type.
  public var contentType: String
  /// The contents.
  public var body: [UInt8]
  /// The URL of a redirection; nil if there is none.
  public var location: String?
  /// The name under which the browser saves the file; nil if the browser shows the file.
  public var fileName: String?
  /// Whether the browser is allowed to cache the file for an hour.
  public var isStatic = false

  static let html = "text/html; charset=utf-8"
  static let json = "application/json; charset=utf-8"

  static func redirect(to path: String) -> PageAnswer {
    PageAnswer(status: 303, contentType: "text/plain; charset=utf-8", body: [], location: path)
  }
}
