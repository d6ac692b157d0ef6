/// A client certificate, which identifies a tenant as a token does.
///
/// The database stores only the SHA-256 of the certificate, which `openssl x509 -fingerprint -sha256` prints.
public struct ClientCertificate: Sendable, Hashable {
  /// The certificate in DER.
  let der: [UInt8]

  private static let limitBytes = 16 << 10

  /// Fails if the certificate is larger than 16 KiB.
  public init?(der: [UInt8]) {
    guard der.count <= Self.limitBytes else { return nil }
    self.der = der
  }
}

// Manages the certificates of tenants. They are rows of the table `token`, with a number, a name and times.
extension FleetStore {
  /// Adds a certificate, and its tenant if it is new.
  ///
  /// Returns the summary of the certificate, or nil if it is already valid for a tenant.
  public func addCertificate(
    _ certificate: ClientCertificate, tenant: String, name: String
  ) async throws(FleetError) -> TokenSummary? {
    let id = try await run { connection throws(FleetError) in
      try Self.addTenant(tenant, connection)
      return try connection.run(
        Statement(
          name: "add_certificate",
          sql: """
            insert into token (tenant, name, hash, is_certificate)
            select id, $2::text, sha256($3::bytea), true from tenant where name = $1::text
            on conflict (hash) where is_certificate and revoked is null do nothing returning id
            """), .text(tenant) + .text(name) + .bytes(certificate.der)
      ).first
    }
    guard let id = id.flatMap({ Int32($0) }) else { return nil }
    return try await tokens().first { $0.id == id }
  }

  /// Returns the tenant of a certificate; nil if the certificate is unknown or revoked.
  public func tenant(of certificate: ClientCertificate) async throws(FleetError) -> Int32? {
    try await retrying { connection throws(FleetError) in
      try connection.run(
        Statement(
          name: "find_certificate",
          sql: """
            select tenant from token where hash = sha256($1::bytea) and is_certificate and revoked is null
            """), .bytes(certificate.der)
      ).first
    }.flatMap { Int32($0) }
  }
}
