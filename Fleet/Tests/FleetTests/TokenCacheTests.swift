import FleetStore
import Logging
import Testing

@testable import FleetServer

@Suite("Token cache")
struct TokenCacheTests {
  private func code(_ cache: TokenCache, _ token: String) async -> Refusal.Code? {
    do throws(Refusal) { _ = try await cache.tenant("Bearer \(token)") } catch { return error.code }
    return nil
  }

  @Test("a valid token is accepted during a flood of wrong tokens, also after its entry has expired")
  func flood() async throws {
    let (test, clock) = (try await TestStore(), TestClock())
    let token = try await test.store.addToken(tenant: "shop", name: "hosts").text
    let wrong = String(token.dropLast()) + (token.last == "0" ? "1" : "0")
    let outage = Outage(log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let cache = TokenCache(test.store, outage, unknownLimit: 5) { clock.now }
    #expect(await code(cache, token) == nil)
    clock.advance(.seconds(31))
    for _ in 0..<5 { #expect(await code(cache, wrong) == .unauthorized) }
    #expect(await code(cache, wrong) == .unknownTokens)
    // The entry of the valid token has expired, and the limit of this second is used up.
    #expect(try await cache.tenant("Bearer \(token)") == test.tenant)
    clock.advance(.seconds(1))
    #expect(await code(cache, wrong) == .unauthorized)
  }

  @Test("a revoked token is refused once its entry has expired, and then counts as an unknown one")
  func revoked() async throws {
    let (test, clock) = (try await TestStore(), TestClock())
    let token = try await test.store.addToken(tenant: "shop", name: "hosts")
    let outage = Outage(log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let cache = TokenCache(test.store, outage, unknownLimit: 1) { clock.now }
    #expect(await code(cache, token.text) == nil)
    #expect(try await test.store.revokeToken(token.id))
    #expect(await code(cache, token.text) == nil)
    clock.advance(.seconds(31))
    #expect(await code(cache, token.text) == .unauthorized)
    #expect(await code(cache, token.text) == .unauthorized)
    #expect(await code(cache, token.text) == .unknownTokens)
  }

  @Test("certificates have the limits of tokens: the time in the cache, and the unknown ones of a second")
  func certificates() async throws {
    let (test, clock) = (try await TestStore(), TestClock())
    let certificate = try #require(ClientCertificate(der: [1]))
    let number = try #require(try await test.store.addCertificate(certificate, tenant: "shop", name: "web-1")).id
    let token = try await test.store.addToken(tenant: "shop", name: "hosts").text
    let outage = Outage(log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let cache = TokenCache(test.store, outage, unknownLimit: 2) { clock.now }
    func code(_ byte: UInt8) async -> Refusal.Code? {
      do throws(Refusal) { _ = try await cache.tenant(nil, ClientCertificate(der: [byte])) } catch { return error.code }
      return nil
    }
    #expect(await code(1) == nil)
    #expect(try await test.store.revokeToken(number))
    #expect(await code(1) == nil)
    clock.advance(.seconds(31))
    #expect(await code(1) == .unauthorized)
    #expect(await code(1) == .unauthorized)
    #expect(await code(2) == .unauthorized)
    // Unknown tokens and unknown certificates share one limit, which does not affect known ones.
    #expect(await code(3) == .unknownTokens)
    #expect(await self.code(cache, "cft_77_" + String(repeating: "0", count: 64)) == .unknownTokens)
    clock.advance(.seconds(1))
    #expect(await self.code(cache, token) == nil)
  }

  @Test("a full cache loses its expired entries, and keeps the valid ones")
  func full() async throws {
    let (test, clock) = (try await TestStore(), TestClock())
    let outage = Outage(log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let cache = TokenCache(test.store, outage, unknownLimit: 5, limit: 2) { clock.now }
    var tokens: [FleetToken] = []
    for name in ["a", "b", "c"] { tokens.append(try await test.store.addToken(tenant: "shop", name: name)) }
    #expect(await code(cache, tokens[0].text) == nil)
    clock.advance(.seconds(20))
    #expect(await code(cache, tokens[1].text) == nil)
    clock.advance(.seconds(11))
    // Only the first entry has expired.
    #expect(await code(cache, tokens[2].text) == nil)
    for token in tokens { #expect(try await test.store.revokeToken(token.id)) }
    #expect(await code(cache, tokens[1].text) == nil)
    #expect(await code(cache, tokens[0].text) == .unauthorized)
  }

  @Test("a failed look-up answers further ones for a second, and then the database is asked again")
  func failure() async throws {
    let (test, clock) = (try await TestStore(), TestClock())
    let token = try await test.store.addToken(tenant: "shop", name: "hosts").text
    let outage = Outage(log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let cache = TokenCache(test.store, outage, unknownLimit: 5) { clock.now }
    _ = try test.query("alter table token rename to absent")
    #expect(await code(cache, token) == .internalError)
    _ = try test.query("alter table absent rename to token")
    #expect(await code(cache, token) == .internalError)
    clock.advance(.seconds(1))
    #expect(try await cache.tenant("Bearer \(token)") == test.tenant)
  }
}
