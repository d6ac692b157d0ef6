import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@testable import CrashPages
@testable import pages_sample

@Suite("Access")
struct AccessTests {
  @Test("a link opens one session, and only its cookie opens the pages")
  func link() throws {
    let access = PageAccess(token: "secret", discriminator: "1", command: "crashctl web")
    for token in ["", "secre", "secret2", "Secret"] {
      #expect(throws: PageAccess.Refusal.usedLink) { try access.login(token: token) }
    }
    let session = try access.login(token: "secret")
    #expect(session.count == 64)
    #expect(throws: PageAccess.Refusal.usedLink) { try access.login(token: "secret") }
    try access.check(host: "localhost:80", origin: nil, cookies: ["a=b; crash-web-1=\(session)"])
    for cookies in [[], [""], ["crash-web-1="], ["crash-web-1=\(session.dropLast())"], ["crash-web-2=\(session)"]] {
      #expect(throws: PageAccess.Refusal.noSession) {
        try access.check(host: "localhost", origin: nil, cookies: cookies)
      }
    }
    access.renew(token: "other")
    #expect(try access.login(token: "other") != session)
  }

  @Test("only names of loopback are hosts, so that another name for 127.0.0.1 reads nothing")
  func hosts() {
    for host in ["localhost", "127.0.0.1:8080", "[::1]:1", "LOCALHOST:65535"] { #expect(PageAccess.isLoopback(host)) }
    for host in [
      "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "127.0.0.2", "localhost:", "::1",
      "localhost:99999", "localhost:80:80", "127.0.0.1@evil.example", "[::1].evil",
    ] { #expect(!PageAccess.isLoopback(host), "\(host)") }
    let access = PageAccess(token: "secret", discriminator: "1", command: "crashctl web")
    #expect(throws: PageAccess.Refusal.foreign) { try access.checkPlace(host: nil, origin: nil) }
    for origin in ["http://evil.example", "null", "https://localhost:80", "http://localhost:81"] {
      #expect(throws: PageAccess.Refusal.foreign) { try access.checkPlace(host: "localhost:80", origin: origin) }
    }
    #expect(throws: Never.self) { try access.checkPlace(host: "localhost:80", origin: "http://localhost:80") }
  }

  @Test("secrets differ, and equality compares whole strings")
  func secrets() {
    #expect(PageAccess.secret() != PageAccess.secret() && PageAccess.secret().count == 64)
    #expect(PageAccess.isEqual("abc", "abc") && !PageAccess.isEqual("abc", "abd") && !PageAccess.isEqual("abc", "ab"))
  }

  @Test("behind a reverse proxy, a request needs the header with one user, and no session")
  func proxy() async throws {
    #expect(ProxyAccess(header: "Remote User") == nil && ProxyAccess(header: "") == nil)
    let access = try #require(ProxyAccess(header: "Remote-User"))
    let responder = PageResponder<BasicRequestContext>(site: try Site(source: FakeSource()), proxy: access)
    let name = try #require(HTTPField.Name("remote-user"))
    try await Application(responder: responder).test(.router) { client in
      let page = try await client.execute(uri: "/issues", method: .get, headers: [name: "alice"])
      #expect(page.status == .ok && String(buffer: page.body).contains("text"))
      var two = HTTPFields()
      two[values: name] = ["mallory", "alice"]
      for headers: HTTPFields in [
        [:], [name: ""], [name: " "], [name: String(repeating: "a", count: 257)], two,
        [name: "(null)"], [name: "{http.auth.user.id}"], [name: "$remote_user"], [name: " %{REMOTE_USER}e"],
      ] {
        let refused = try await client.execute(uri: "/issues", method: .get, headers: headers)
        #expect(refused.status == .unauthorized && String(buffer: refused.body).contains("Remote-User"))
      }
      // Behind a proxy, there is no login link.
      #expect(try await client.execute(uri: "/login?token=", method: .get).status == .unauthorized)
      let post = try await client.execute(uri: "/issues", method: .post, headers: [name: "alice"])
      #expect(post.status == .methodNotAllowed)
    }
  }

  @Test("every answer has the headers that forbid scripts, styles and requests of other origins")
  func responder() async throws {
    let access = PageAccess(token: "secret", discriminator: "1", command: "crashctl web")
    let responder = PageResponder<BasicRequestContext>(site: try Site(source: FakeSource()), access: access)
    try await Application(responder: responder).test(.router) { client in
      let policy = try #require(HTTPField.Name("Content-Security-Policy"))
      let refused = try await client.execute(uri: "/issues", method: .get)
      #expect(refused.status == .unauthorized && refused.headers[policy] == SecurityHeaders.policy)
      #expect(!String(buffer: refused.body).contains("text"))
      for method in [HTTPRequest.Method.post, .put, .delete, .options] {
        let answer = try await client.execute(uri: "/issues", method: method)
        #expect(answer.status == .methodNotAllowed && answer.headers[.allow] == "GET, HEAD")
      }
      #expect(try await client.execute(uri: "/login?token=x", method: .get).status == .forbidden)
      // A request for a link preview must not use up the one-time token of the link.
      #expect(try await client.execute(uri: "/login?token=secret", method: .head).status == .ok)
      let login = try await client.execute(uri: "/login?token=secret", method: .get)
      let cookie = try #require(login.headers[.setCookie])
      #expect(login.status == .seeOther && login.headers[.location] == "/issues")
      #expect(cookie.hasSuffix("; HttpOnly; SameSite=Strict; Path=/"))
      let session = String(cookie.prefix { $0 != ";" })
      let page = try await client.execute(uri: "/issues", method: .get, headers: [.cookie: session])
      #expect(page.status == .ok && String(buffer: page.body).contains("text"))
      #expect(page.headers[policy]?.contains("unsafe") == false && page.headers[.cacheControl] == "no-store")
      let head = try await client.execute(uri: "/issues", method: .head, headers: [.cookie: session])
      #expect(head.status == .ok && head.body.readableBytes == 0)
      let foreign = try await client.execute(
        uri: "/issues", method: .get, headers: [.cookie: session, .origin: "http://evil.example"])
      #expect(foreign.status == .forbidden)
    }
  }
}
