internal import HTTPTypes
public import Hummingbird
internal import NIOCore

/// Answers HTTP requests with the pages of a site.
public struct PageResponder<Context: RequestContext>: HTTPResponder {
  private enum Access: Sendable {
    case link(PageAccess)
    case proxy(ProxyAccess)
  }

  private let site: Site
  private let access: Access
  private let streams = ChangeStreams()

  /// Creates a responder for the sessions that links start.
  public init(site: Site, access: PageAccess) { (self.site, self.access) = (site, .link(access)) }

  /// Creates a responder for the users of a reverse proxy.
  public init(site: Site, proxy: ProxyAccess) { (self.site, access) = (site, .proxy(proxy)) }

  /// Answers a request; only GET and HEAD are allowed.
  public func respond(to request: Request, context _: Context) async throws -> Response {
    let isHead = request.method == .head
    guard request.method == .get || isHead else {
      var refusal = response(plain(405, "Only GET", "The pages are read-only."), isHead: false)
      refusal.headers[.allow] = "GET, HEAD"
      return refusal
    }
    let target = PageRequest(target: request.head.path ?? "/")
    do throws(PageAccess.Refusal) {
      switch access {
      case .link(let access):
        // For HTTP/1.1, the HTTP library stores the header `Host` as the authority.
        let host = request.head.authority ?? request.headers[HostHeader.name]
        let origin = request.headers[.origin]
        if target.path == "/login" { return try login(target, access, host: host, origin: origin, isHead: isHead) }
        try access.check(host: host, origin: origin, cookies: request.headers[values: .cookie])
      case .proxy(let access): try access.check(request.headers)
      }
    } catch {
      return response(answer(error), isHead: isHead)
    }
    if target.path == "/changes", !isHead { return await changes(request) }
    return response(await site.answer(target), isHead: isHead)
  }

  private func changes(_ request: Request) async -> Response {
    let source = site.source
    // If the source is not available now, the script of the next page asks again.
    guard let scope = try? await source.scope(), scope.hasChanges else {
      return response(plain(404, "No changes", "These pages do not announce changes."), isHead: false)
    }
    return streams.response(to: request) { source.changes() }
      ?? response(plain(503, "Busy", "\(ChangeStreams.limit) pages are open already."), isHead: false)
  }

  private func login(
    _ request: PageRequest, _ access: PageAccess, host: String?, origin: String?, isHead: Bool
  ) throws(PageAccess.Refusal) -> Response {
    try access.checkPlace(host: host, origin: origin)
    // A program that previews links sends HEAD. This request must not use up the one-time token.
    guard !isHead else { return response(plain(200, "Login", "Open the link in a browser."), isHead: true) }
    let session = try access.login(token: request.query["token"] ?? "")
    var login = response(.redirect(to: "/issues"), isHead: false)
    login.headers[.setCookie] = "\(access.cookie)=\(session); HttpOnly; SameSite=Strict; Path=/"
    return login
  }

  private func answer(_ refusal: PageAccess.Refusal) -> PageAnswer {
    switch refusal {
    case .foreign:
      plain(
        403, "Refused", "The pages answer only requests to localhost, 127.0.0.1 or [::1], from their own pages.")
    case .usedLink:
      plain(
        403, "The link is not valid", "Each link opens one session.",
        "Use the browser in which you opened the link, or start '\(command)' again.")
    case .noSession:
      plain(401, "Open the link first", "This browser has no session.", "Open the link that '\(command)' printed.")
    case .noUser(let header):
      plain(
        401, "No user", "The reverse proxy did not name a user.",
        "The proxy must set the header '\(header)' of each request to one user, and remove the client's own.")
    }
  }

  private var command: String {
    if case .link(let access) = access { access.command } else { "" }
  }

  private func plain(_ status: Int, _ title: String, _ text: String, _ advice: String? = nil) -> PageAnswer {
    site.failure(status: status, title: title, text: text, advice: advice)
  }

  private func response(_ answer: PageAnswer, isHead: Bool) -> Response {
    var headers = SecurityHeaders.fields
    headers[.contentType] = answer.contentType
    headers[.cacheControl] = answer.isStatic ? "private, max-age=3600" : "no-store"
    if let location = answer.location { headers[.location] = location }
    if let name = answer.fileName { headers[.contentDisposition] = "attachment; filename=\"\(name)\"" }
    if isHead {
      headers[.contentLength] = String(answer.body.count)
      return Response(status: .init(code: answer.status), headers: headers)
    }
    return Response(
      status: .init(code: answer.status), headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: answer.body)))
  }
}

private enum HostHeader {
  /// The initializer does not return nil, because `Host` is a valid name of a header.
  static let name = HTTPField.Name("Host") ?? .referer
}
