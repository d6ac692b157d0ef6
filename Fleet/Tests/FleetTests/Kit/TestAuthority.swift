import Foundation

/// A private certificate authority, with its files in a temporary directory.
final class TestAuthority {
  /// The PEM files of a certificate and of its key.
  struct Identity {
    var certificate: String
    var key: String
  }

  let directory: String
  /// The PEM file of the authority's own certificate.
  var file: String { "\(directory)/ca.pem" }

  init() throws {
    directory = try TestPostgres.run("mktemp", ["-d", "/tmp/crash-fleet-ca.XXXXXX"])
      .trimmingCharacters(in: .newlines)
    try run("req -x509 \(Self.newKey) -days 2 -subj /CN=authority -keyout ca.key -out ca.pem")
  }

  deinit {
    // A directory that stays in /tmp fails no test.
    try? FileManager.default.removeItem(atPath: directory)
  }

  /// Issues a certificate; that of a server is for 127.0.0.1.
  func issue(_ name: String, isServer: Bool = false) throws -> Identity {
    let usage = isServer ? "serverAuth\\nsubjectAltName=IP:127.0.0.1" : "clientAuth"
    try run("req \(Self.newKey) -subj /CN=\(name) -keyout \(name).key -out \(name).csr")
    _ = try TestPostgres.run("sh", ["-c", "printf 'extendedKeyUsage=\(usage)' >'\(directory)/\(name).ext'"])
    try run("x509 -req -in \(name).csr -CA ca.pem -CAkey ca.key -days 2 -extfile \(name).ext -out \(name).pem")
    return Identity(certificate: "\(directory)/\(name).pem", key: "\(directory)/\(name).key")
  }

  /// Sends one request over TLS, and returns the answer of the server, or else the problem of the connection.
  ///
  /// `more` are further options of `openssl s_client`.
  func send(
    port: Int, _ line: String = "POST /v1/reports", as identity: Identity? = nil, token: String? = nil,
    body: String = "", more: String = ""
  ) throws -> String {
    let head =
      ["\(line) HTTP/1.1", "Host: fleet", "Content-Length: \(body.utf8.count)", "Connection: close"]
      + (token.map { ["Authorization: Bearer \($0)"] } ?? [])
    let request = "\(directory)/request"
    try Data((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8).write(to: URL(fileURLWithPath: request))
    let own = identity.map { "-cert '\($0.certificate)' -key '\($0.key)'" } ?? ""
    return try TestPostgres.run(
      "sh",
      [
        "-c",
        """
        openssl s_client -quiet -connect 127.0.0.1:\(port) -CAfile '\(file)' -verify_return_error \(own) \(more) \
        <'\(request)' 2>&1 || true
        """,
      ])
  }

  private static let newKey = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"

  private func run(_ arguments: String) throws {
    _ = try TestPostgres.run("sh", ["-c", "cd '\(directory)' && openssl \(arguments)"])
  }
}
