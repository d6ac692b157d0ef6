import FleetStore
import Synchronization

/// Finds the tenant of a token, and caches it to save look-ups in the database.
///
/// The service accepts a revoked token for at most `lifetime` longer.
final class TokenCache: Sendable {
  private struct Entry {
    var token: FleetToken
    var tenant: Int32
    var until: ContinuousClock.Instant
  }
  private struct State {
    var entries: [Int32: Entry] = [:]
    /// The number of unknown tokens in the second that began at `second`.
    private var second: ContinuousClock.Instant = .now
    var unknown = 0

    mutating func failures(at now: ContinuousClock.Instant) -> Int {
      if second.duration(to: now) >= .seconds(1) { (second, unknown) = (now, 0) }
      return unknown
    }
  }

  private static let lifetime = Duration.seconds(30)
  private static let limit = 10_000

  private let store: FleetStore
  private let outage: Outage
  private let unknownLimit: Int
  private let lookups = Semaphore(2)
  private let state = Mutex(State())

  init(_ store: FleetStore, _ outage: Outage, unknownLimit: Int) {
    (self.store, self.outage, self.unknownLimit) = (store, outage, unknownLimit)
  }

  func tenant(_ authorization: String?) async throws(Refusal) -> Int32 {
    let mark = "bearer "
    guard let authorization, authorization.lowercased().hasPrefix(mark),
      let token = FleetToken(authorization.dropFirst(mark.utf8.count))
    else {
      throw Refusal(.unauthorized, "send 'Authorization: Bearer TOKEN' with a token of 'crash-fleet token add'")
    }
    if let tenant = cached(token) { return tenant }
    // Few look-ups run at once, and the others wait here. Therefore a flood of wrong tokens cannot fill the queue for
    // the database.
    return try await lookups.run { () throws(Refusal) in
      if let tenant = cached(token) { return tenant }
      return try await lookUp(token)
    }
  }

  private func cached(_ token: FleetToken) -> Int32? {
    guard let entry = state.withLock({ $0.entries[token.id] }), entry.until > .now, entry.token.matches(token) else {
      return nil
    }
    return entry.tenant
  }

  private func lookUp(_ token: FleetToken) async throws(Refusal) -> Int32 {
    guard state.withLock({ $0.failures(at: .now) < unknownLimit }) else {
      throw Refusal(.unknownTokens, "too many requests have unknown tokens; send the batch again later")
    }
    let tenant: Int32?
    do throws(FleetError) { tenant = try await store.tenant(of: token) } catch {
      throw outage.refusal(error)
    }
    return try state.withLock { state throws(Refusal) in
      guard let tenant else {
        state.unknown += 1
        throw Refusal(.unauthorized, "the token is unknown or revoked; ask for one of 'crash-fleet token add'")
      }
      if state.entries.count >= Self.limit { state.entries.removeAll() }
      state.entries[token.id] = Entry(token: token, tenant: tenant, until: .now + Self.lifetime)
      return tenant
    }
  }
}
