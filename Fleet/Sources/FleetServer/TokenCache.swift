import FleetStore
import Synchronization

/// Finds the tenant of a token or of a client certificate, and caches it to save look-ups in the database.
///
/// The limits for tokens apply to certificates, too. A revoked token stays valid for at most `lifetime`. An expired
/// entry stays in the cache, because its token was valid: the next look-up of this token does not wait behind unknown
/// tokens, and does not count as one. A full cache first loses its expired entries.
final class TokenCache: Sendable {
  private enum Credential {
    case token(FleetToken)
    case certificate(ClientCertificate)

    var key: Key {
      switch self {
      case .token(let token): .token(token.id)
      case .certificate(let certificate): .certificate(certificate)
      }
    }

    /// The reason why the service refuses the credential, and what to do.
    var unknown: String {
      switch self {
      case .token: "the token is unknown or revoked; ask for one of 'crash-fleet token add'"
      case .certificate:
        "the client certificate is unknown or revoked; add it with 'crash-fleet token add --certificate FILE TENANT'"
      }
    }

    func matches(_ other: Credential) -> Bool {
      switch (self, other) {
      case (.token(let token), .token(let other)): token.matches(other)
      case (.certificate(let certificate), .certificate(let other)): certificate == other
      default: false
      }
    }
  }
  /// The cache finds a token by its number, and then compares the secret in constant time.
  private enum Key: Hashable {
    case token(Int32)
    case certificate(ClientCertificate)
  }
  private struct Entry {
    var credential: Credential
    var tenant: Int32
    var until: ContinuousClock.Instant
  }
  private struct State {
    var entries: [Key: Entry] = [:]
    /// The number of unknown tokens in the second that began at `second`.
    private var second: ContinuousClock.Instant = .now
    var unknown = 0
    /// The last failed look-up, which answers further ones for a short time.
    ///
    /// During an outage, requests would otherwise wait here one after another, with their bodies.
    var failure: (refusal: Refusal, until: ContinuousClock.Instant)?

    mutating func failures(at now: ContinuousClock.Instant) -> Int {
      if second.duration(to: now) >= .seconds(1) { (second, unknown) = (now, 0) }
      return unknown
    }
  }

  private static let lifetime = Duration.seconds(30)
  private static let failureLifetime = Duration.seconds(1)

  private let store: FleetStore
  private let outage: Outage
  private let unknownLimit: Int
  private let limit: Int
  private let (unknown, renewals) = (Semaphore(2, waiting: 64), Semaphore(2, waiting: 64))
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  /// - Parameters:
  ///   - store: The store that has the tokens.
  ///   - outage: The log of outages.
  ///   - unknownLimit: The maximum number of unknown tokens a second.
  ///   - limit: The maximum number of entries.
  ///   - now: The clock.
  init(
    _ store: FleetStore, _ outage: Outage, unknownLimit: Int, limit: Int = 10_000,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    (self.store, self.outage, self.now) = (store, outage, now)
    (self.unknownLimit, self.limit) = (unknownLimit, limit)
  }

  /// Finds the tenant of a request.
  ///
  /// The header takes precedence over the verified certificate of the connection.
  func tenant(_ authorization: String?, _ certificate: ClientCertificate? = nil) async throws(Refusal) -> Int32 {
    let credential = try Self.credential(authorization, certificate)
    if let tenant = try cached(credential) { return tenant }
    // Only a few look-ups run at once, and a limited number of others wait here. A flood of wrong tokens thus cannot
    // fill the database's queue.
    return try await (entry(credential) == nil ? unknown : renewals).run { () throws(Refusal) in
      if let tenant = try cached(credential) { return tenant }
      return try await lookUp(credential, wasValid: entry(credential) != nil)
    }
  }

  private static func credential(
    _ authorization: String?, _ certificate: ClientCertificate?
  ) throws(Refusal) -> Credential {
    if authorization == nil, let certificate { return .certificate(certificate) }
    let mark = "bearer "
    guard let authorization, authorization.lowercased().hasPrefix(mark),
      let token = FleetToken(authorization.dropFirst(mark.utf8.count))
    else {
      throw Refusal(
        .unauthorized,
        "send 'Authorization: Bearer TOKEN', or connect with a client certificate; 'crash-fleet token add' adds either")
    }
    return .token(token)
  }

  /// The answer without a look-up; nil if one is necessary.
  private func cached(_ credential: Credential) throws(Refusal) -> Int32? {
    if let known = entry(credential), known.until > now() { return known.tenant }
    if let failure = state.withLock({ $0.failure }), failure.until > now() { throw failure.refusal }
    return nil
  }

  /// The entry of this token or certificate, which may have expired.
  private func entry(_ credential: Credential) -> Entry? {
    let known = state.withLock { $0.entries[credential.key] }
    guard let entry = known, entry.credential.matches(credential) else { return nil }
    return entry
  }

  private func lookUp(_ credential: Credential, wasValid: Bool) async throws(Refusal) -> Int32 {
    guard wasValid || state.withLock({ $0.failures(at: now()) < unknownLimit }) else {
      throw Refusal(.unknownTokens, "too many requests have unknown tokens; send the batch again later")
    }
    let tenant: Int32?
    do throws(FleetError) {
      tenant =
        switch credential {
        case .token(let token): try await store.tenant(of: token)
        case .certificate(let certificate): try await store.tenant(of: certificate)
        }
      outage.succeed()
    } catch {
      let refusal = outage.refusal(error)
      state.withLock { $0.failure = (refusal, now() + Self.failureLifetime) }
      throw refusal
    }
    return try state.withLock { state throws(Refusal) in
      guard let tenant else {
        if wasValid { state.entries[credential.key] = nil } else { state.unknown += 1 }
        throw Refusal(.unauthorized, credential.unknown)
      }
      if state.entries[credential.key] == nil, state.entries.count >= limit {
        state.entries = state.entries.filter { $0.value.until > now() }
        if state.entries.count >= limit { state.entries.removeAll() }
      }
      state.entries[credential.key] = Entry(credential: credential, tenant: tenant, until: now() + Self.lifetime)
      return tenant
    }
  }
}
