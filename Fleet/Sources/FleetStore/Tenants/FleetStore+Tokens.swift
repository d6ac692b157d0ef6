/// A token that allows hosts to send reports to one tenant.
///
/// The text is `cft_ID_SECRET`: the number of the token, and a secret of 64 hexadecimal digits. The database stores
/// only the SHA-256 of the secret.
public struct FleetToken: Sendable, Equatable {
  /// The number of the token.
  public var id: Int32
  /// The secret, in hexadecimal digits.
  var secret: [UInt8]

  private static let mark = "cft_"
  private static let secretDigits = 64

  /// Parses the text of a token.
  public init?(_ text: some StringProtocol) {
    guard text.hasPrefix(Self.mark), text.utf8.count <= 96 else { return nil }
    let parts = text.utf8.dropFirst(Self.mark.utf8.count).split(separator: UInt8(ascii: "_"), maxSplits: 1)
    guard parts.count == 2, let id = Int32(String(decoding: parts[0], as: UTF8.self)), id > 0 else { return nil }
    guard parts[1].count == Self.secretDigits,
      parts[1].allSatisfy({ "0123456789abcdef".utf8.contains($0) })
    else { return nil }
    (self.id, secret) = (id, Array(parts[1]))
  }

  /// The text, which an operator configures on each host.
  public var text: String { "\(Self.mark)\(id)_\(String(decoding: secret, as: UTF8.self))" }

  /// Compares two tokens in a time that depends only on their lengths.
  public func matches(_ other: FleetToken) -> Bool { id == other.id && isEqualInConstantTime(secret, other.secret) }

  fileprivate static func randomSecret() -> [UInt8] {
    var random = SystemRandomNumberGenerator()
    return (0..<secretDigits / 16).flatMap { _ in
      let digits = String(random.next() as UInt64, radix: 16)
      return Array((String(repeating: "0", count: 16 - digits.count) + digits).utf8)
    }
  }

  fileprivate init(id: Int32, secret: [UInt8]) { (self.id, self.secret) = (id, secret) }
}

/// Compares two byte sequences in a time that depends only on their lengths.
func isEqualInConstantTime(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
  guard left.count == right.count else { return false }
  return zip(left, right).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
}

// Manages tenants and their tokens.
extension FleetStore {
  /// One token, without its secret, or one client certificate.
  public struct TokenSummary: Sendable, Equatable {
    /// The number of the token.
    public var id: Int32
    /// The SHA-256 of the certificate, as openssl prints it; nil for a token.
    public var fingerprint: String?
    /// The tenant.
    public var tenant: String
    /// The name that the operator gave.
    public var name: String
    /// The time at which the token was added.
    public var created: String
    /// The time at which the token was revoked; nil if it is valid.
    public var revoked: String?
  }

  /// Adds a token, and its tenant if it is new.
  ///
  /// The database does not store the token's text, so the caller must show the text now.
  public func addToken(tenant: String, name: String) async throws(FleetError) -> FleetToken {
    let secret = FleetToken.randomSecret()
    let row = try await run { connection throws(FleetError) in
      try Self.addTenant(tenant, connection)
      return try connection.run(
        Statement(
          name: "add_token",
          sql: """
            insert into token (tenant, name, hash)
            select id, $2::text, sha256($3::bytea) from tenant where name = $1::text returning id
            """), .text(tenant) + .text(name) + .bytes(secret))
    }
    return FleetToken(id: row.rows.first.map { Int32(truncatingIfNeeded: $0.integer(0)) } ?? 0, secret: secret)
  }

  static func addTenant(_ name: String, _ connection: Connection) throws(FleetError) {
    try connection.run(
      Statement(name: "add_tenant", sql: "insert into tenant (name) values ($1::text) on conflict do nothing"),
      .text(name))
  }

  /// Returns all tokens and certificates, oldest first.
  public func tokens() async throws(FleetError) -> [TokenSummary] {
    let rows = try await retrying { connection throws(FleetError) in
      try connection.run(
        Statement(
          name: "list_tokens",
          sql: """
            select k.id, t.name, k.name, to_char(k.created, 'YYYY-MM-DD HH24:MI'),
              to_char(k.revoked, 'YYYY-MM-DD HH24:MI'),
              case when k.is_certificate then upper(encode(k.hash, 'hex')) end
            from token k join tenant t on t.id = k.tenant order by k.id
            """))
    }
    return rows.rows.map { row in
      TokenSummary(
        id: Int32(truncatingIfNeeded: row.integer(0)), fingerprint: row[5].map(Self.pairs), tenant: row.text(1),
        name: row.text(2), created: row.text(3), revoked: row[4])
    }
  }

  /// Inserts a colon between the digits of each byte and those of the next byte.
  private static func pairs(_ digits: String) -> String {
    digits.enumerated().map { at, digit in at > 0 && at % 2 == 0 ? ":\(digit)" : "\(digit)" }.joined()
  }

  /// Revokes a token or a certificate.
  ///
  /// Returns false if there is no valid one with this number.
  public func revokeToken(_ id: Int32) async throws(FleetError) -> Bool {
    try await retrying { connection throws(FleetError) in
      try connection.run(
        Statement(
          name: "revoke_token",
          sql: "update token set revoked = now() where id = $1::int and revoked is null returning id"), .int32(id)
      ).first != nil
    }
  }

  /// Returns the tenant of a token; nil if the token is wrong or revoked.
  ///
  /// All wrong secrets take the same time to compare.
  public func tenant(of token: FleetToken) async throws(FleetError) -> Int32? {
    let rows = try await retrying { connection throws(FleetError) in
      try connection.run(
        Statement(
          name: "find_token",
          sql: """
            select tenant, encode(hash, 'hex'), encode(sha256($2::bytea), 'hex') from token
            where id = $1::int and not is_certificate and revoked is null
            """), .int32(token.id) + .bytes(token.secret))
    }
    guard let row = rows.rows.first, isEqualInConstantTime(row.text(1).utf8, row.text(2).utf8) else { return nil }
    return Int32(truncatingIfNeeded: row.integer(0))
  }

  /// Returns the number of the tenant with this name; nil if there is none.
  public func tenant(named name: String) async throws(FleetError) -> Int32? {
    try await retrying { connection throws(FleetError) in
      try connection.run(
        Statement(name: "find_tenant", sql: "select id from tenant where name = $1::text"), .text(name)
      )
      .first
    }.flatMap { Int32($0) }
  }
}
