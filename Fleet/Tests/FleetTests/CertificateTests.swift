import FleetStore
import Foundation
import Testing

/// Tests client certificates with `openssl s_client`, which prints its own lines before the answer.
@Suite("Client certificates")
struct CertificateTests {
  /// A service with a private authority for its own certificate and for those of clients.
  private struct Service {
    let (authority, fleet): (TestAuthority, FleetProcess)

    init(_ settings: [String: String] = [:]) async throws {
      authority = try TestAuthority()
      let server = try authority.issue("server", isServer: true)
      fleet = try await FleetProcess(
        [
          "CRASH_FLEET_TLS_CERTIFICATE": server.certificate, "CRASH_FLEET_TLS_KEY": server.key,
          "CRASH_FLEET_TLS_CLIENT_CA": authority.file,
        ].merging(settings) { $1 })
    }

    func send(
      _ line: String = "POST /v1/reports", as identity: TestAuthority.Identity? = nil, token: String? = nil,
      body: String = "", more: String = ""
    ) throws -> String {
      try authority.send(port: fleet.port, line, as: identity, token: token, body: body, more: more)
    }

    /// Runs a subcommand of `crash-fleet token`, and returns its output.
    @discardableResult
    func token(_ arguments: String...) throws -> String {
      let (status, output) = try FleetProcess.run(["token"] + arguments, on: fleet.test.connection)
      guard status == 0 else { throw FleetProcess.Problem(text: output) }
      return output
    }

    /// The tenants of all reports, in the order of their ids.
    func tenants() throws -> String {
      try fleet.test.query(
        "select string_agg(t.name, ' ' order by r.id) from report r join tenant t on t.id = r.tenant")
    }
  }

  @Test("a known client certificate stores reports under its tenant, and a token needs none and takes precedence")
  func tenants() async throws {
    let service = try await Service()
    let (known, unknown) = (try service.authority.issue("web-1"), try service.authority.issue("web-2"))
    let added = try service.token("add", "mail", "--name", "web-1", "--certificate", known.certificate)
    let printed = try TestPostgres.run(
      "openssl", ["x509", "-noout", "-fingerprint", "-sha256", "-in", known.certificate])
    let fingerprint = try #require(printed.split(separator: "=").last).trimmingCharacters(in: .newlines)
    #expect(added.hasSuffix("  SHA-256 \(fingerprint)\n"))
    #expect(try service.token("list").contains("  mail  web-1  added "))
    #expect(try service.token("list").contains(" UTC  valid  SHA-256 \(fingerprint)\n"))

    #expect(try service.send(as: known, body: Sample.line(1)).contains(#""items":{"stored":1}"#))
    #expect(try service.send(token: service.fleet.token, body: Sample.line(2)).contains(#""items":{"stored":1}"#))
    #expect(
      try service.send(as: known, token: service.fleet.token, body: Sample.line(3)).contains(#""items":{"stored":1}"#))
    let path = "POST /v1/position?machine=\(Sample.hex(7))&stream=s"
    #expect(try service.send(path, as: known).hasSuffix("{\"cursor\":null}\n"))
    // A wrong token is refused, whatever the certificate.
    for (identity, token) in [(unknown, nil), (nil, nil), (known, "cft_1_x")] {
      let answer = try service.send(as: identity, token: token, body: Sample.line(4))
      #expect(answer.contains("HTTP/1.1 401 ") && answer.contains(#""code":"unauthorized""#), "\(answer)")
    }
    #expect(try service.tenants() == "mail shop shop")
  }

  @Test("TLS refuses a certificate of another authority, and one that is only for servers")
  func strangers() async throws {
    let service = try await Service()
    let other = try TestAuthority()
    let stranger = try other.issue("web-1")
    // If TLS accepted this certificate, the service would store the report under the tenant `mail`.
    try service.token("add", "mail", "--certificate", stranger.certificate)
    for identity in [stranger, try service.authority.issue("web-2", isServer: true)] {
      let answer = try service.send(as: identity, body: Sample.line(1))
      #expect(!answer.contains("HTTP/1.1") && answer.contains("alert"), "\(answer)")
    }
    #expect(try service.fleet.test.query("select count(*) from report") == "0")
  }

  @Test("if the setting requires certificates, TLS refuses connections without one, and a token still names the tenant")
  func required() async throws {
    let service = try await Service(["CRASH_FLEET_TLS_REQUIRE_CLIENT_CERTIFICATE": "true"])
    let (added, other) = (try service.authority.issue("web-1"), try service.authority.issue("web-2"))
    try service.token("add", "mail", "--certificate", added.certificate)
    for line in ["POST /v1/reports", "GET /healthz"] {
      let answer = try service.send(line, token: service.fleet.token)
      #expect(!answer.contains("HTTP/1.1") && answer.contains("alert"), "\(answer)")
    }
    #expect(try service.send(as: added, body: Sample.line(1)).contains(#""items":{"stored":1}"#))
    #expect(try service.send(as: other, token: service.fleet.token, body: Sample.line(2)).contains(#""stored":1"#))
    #expect(try service.send("GET /healthz", as: other).contains("HTTP/1.1 200 "))
    #expect(try service.tenants() == "mail shop")
  }

  @Test("a resumed TLS session has the certificate of its first connection")
  func resumption() async throws {
    let service = try await Service()
    let known = try service.authority.issue("web-1")
    try service.token("add", "mail", "--certificate", known.certificate)
    let session = "\(service.authority.directory)/session"
    _ = try service.send(as: known, body: Sample.line(1), more: "-sess_out '\(session)'")
    let answer = try service.send(body: Sample.line(2), more: "-sess_in '\(session)'")
    #expect(answer.contains(#""items":{"stored":1}"#), "\(answer)")
    #expect(try service.tenants() == "mail mail")
  }

  @Test("TLS refuses an expired certificate, and the service refuses one that expires during its TLS session")
  func expired() async throws {
    // TLS refuses a connection that neither has a certificate nor resumes a session.
    let service = try await Service(["CRASH_FLEET_TLS_REQUIRE_CLIENT_CERTIFICATE": "true"])
    func known(_ name: String, lifetime_s: Double) throws -> TestAuthority.Identity {
      let identity = try service.authority.issue(name, lifetime_s: lifetime_s)
      try service.token("add", "mail", "--certificate", identity.certificate)
      return identity
    }
    let old = try service.send(as: try known("web-1", lifetime_s: -60), body: Sample.line(1))
    #expect(!old.contains("HTTP/1.1") && old.contains("alert"), "\(old)")
    let session = "\(service.authority.directory)/session"
    // On a slow machine, the certificate can expire before its first request.
    let isStored = try [3.0, 10, 30].contains { lifetime_s in
      try service.send(
        as: try known("web-2", lifetime_s: lifetime_s), body: Sample.line(2), more: "-sess_out '\(session)'"
      ).contains(#""items":{"stored":1}"#)
    }
    #expect(isStored)
    try await TestPostgres.wait(for: "the expiry of a certificate") {
      try service.send(body: Sample.line(2), more: "-sess_in '\(session)'").contains("HTTP/1.1 401 ")
    }
    #expect(try service.tenants() == "mail")
  }

  @Test("a revoked certificate is refused by the next service, and can be added to another tenant")
  func revoked() async throws {
    let service = try await Service()
    let identity = try service.authority.issue("web-1")
    let number = try service.token("add", "mail", "--certificate", identity.certificate).prefix { $0 != " " }
    #expect {
      try service.token("add", "shop", "--certificate", identity.certificate)
    } throws: {
      "\($0)".contains("is added already; see ")
    }
    try service.token("revoke", String(number))
    let answer = try service.send(as: identity, body: Sample.line(1))
    #expect(answer.contains("HTTP/1.1 401 ") && answer.contains("the client certificate is unknown or revoked"))
    try service.token("add", "shop", "--certificate", identity.certificate)
    #expect(try service.send(as: identity, body: Sample.line(2)).contains(#""items":{"stored":1}"#))
    #expect(try service.tenants() == "shop")
  }

  @Test("the number of a certificate is not the number of a token")
  func number() async throws {
    let test = try await TestStore()
    let certificate = try #require(ClientCertificate(der: [1, 2, 3]))
    let added = try #require(try await test.store.addCertificate(certificate, tenant: "shop", name: "web-1"))
    #expect(try await test.store.tenant(of: certificate) == test.tenant)
    #expect(added.fingerprint?.hasPrefix("03:90:58:C6:F2:C0:CB:49:") == true && added.fingerprint?.count == 95)
    let token = try #require(FleetToken("cft_\(added.id)_" + String(repeating: "0", count: 64)))
    #expect(try await test.store.tenant(of: token) == nil)
    #expect(ClientCertificate(der: [UInt8](repeating: 0, count: (16 << 10) + 1)) == nil)
  }

  @Test("a wrong TLS file is refused with its key and its path")
  func files() throws {
    let authority = try TestAuthority()
    let (server, other) = (try authority.issue("server", isServer: true), try authority.issue("other"))
    func problem(_ settings: [String: String]) throws -> String {
      let variables = settings.map { ("CRASH_FLEET_TLS_\($0.key)", $0.value) }
      let (status, output) = try FleetProcess.run(
        ["--check-config"], settings: Dictionary(uniqueKeysWithValues: variables))
      return "\(output)\(status)\n"
    }
    let good = ["CERTIFICATE": server.certificate, "KEY": server.key, "CLIENT_CA": authority.file]
    #expect(try problem(good).hasSuffix("\n0\n"))
    let missing = "\(authority.directory)/missing.pem"
    for (variable, key) in [("CERTIFICATE", "certificate"), ("KEY", "key"), ("CLIENT_CA", "client-ca")] {
      let text = try problem(good.merging([variable: missing]) { $1 })
      #expect(text.contains("tls.\(key): '\(missing)': cannot read it: No such file or directory\n2\n"), "\(text)")
      let request = "\(authority.directory)/server.csr"
      let damaged = try problem(good.merging([variable: request]) { $1 })
      #expect(damaged.contains("tls.\(key): '\(request)' does not contain a"), "\(damaged)")
    }
    #expect(
      try problem(good.merging(["KEY": other.key]) { $1 })
        .contains("tls.key: '\(other.key)' does not contain the key of the first certificate"))
    #expect(try problem(["CLIENT_CA": authority.file]).contains("set both tls.certificate and tls.key"))
    #expect(
      try problem(["CERTIFICATE": server.certificate, "KEY": server.key, "REQUIRE_CLIENT_CERTIFICATE": "true"])
        .contains("tls.require-client-certificate: set tls.client-ca"))
  }
}
