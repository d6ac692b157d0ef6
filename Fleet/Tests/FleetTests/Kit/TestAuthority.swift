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
    try write("index", "")
    try write(
      "ca.cnf",
      """
      [ca]
      default_ca = authority
      [authority]
      database = index
      policy = any
      rand_serial = yes
      unique_subject = no
      [any]
      commonName = supplied

      """)
  }

  deinit {
    // Ignore an error, because a directory that stays in /tmp must not fail a test.
    try? FileManager.default.removeItem(atPath: directory)
  }

  /// Issues a certificate that ends after some seconds, or has ended if they are negative.
  ///
  /// The certificate of a server is for 127.0.0.1.
  func issue(_ name: String, isServer: Bool = false, lifetime_s: Double = TestAuthority.day_s) throws -> Identity {
    let usage = isServer ? "serverAuth\nsubjectAltName=IP:127.0.0.1" : "clientAuth"
    try run("req \(Self.newKey) -subj /CN=\(name) -keyout \(name).key -out \(name).csr")
    try write("\(name).ext", "extendedKeyUsage=\(usage)\n")
    let end = Date(timeIntervalSinceNow: lifetime_s)
    let (first, last) = (Self.time(end - 2 * Self.day_s), Self.time(end))
    // The command `x509` of OpenSSL 3.0 takes whole days only.
    try run(
      """
      ca -batch -notext -config ca.cnf -cert ca.pem -keyfile ca.key -md sha256 -startdate \(first) -enddate \(last) \
      -extfile \(name).ext -outdir . -in \(name).csr -out \(name).pem
      """)
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
    try write("request", head.joined(separator: "\r\n") + "\r\n\r\n" + body)
    let own = identity.map { "-cert '\($0.certificate)' -key '\($0.key)'" } ?? ""
    return try TestPostgres.run(
      "sh",
      [
        "-c",
        """
        openssl s_client -quiet -connect 127.0.0.1:\(port) -CAfile '\(file)' -verify_return_error \(own) \(more) \
        <'\(directory)/request' 2>&1 || true
        """,
      ])
  }

  /// A day in seconds.
  static let day_s = 86_400.0

  /// Returns a time as OpenSSL reads it.
  private static func time(_ date: Date) -> String {
    let text = date.formatted(Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted))
    return text.replacing("T", with: "")
  }

  private func write(_ name: String, _ text: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name)"))
  }

  private static let newKey = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"

  private func run(_ arguments: String) throws {
    _ = try TestPostgres.run("sh", ["-c", "cd '\(directory)' && openssl \(arguments)"])
  }
}
