internal import Synchronization

/// Decides which requests are allowed to read the pages.
///
/// A link with a one-time token starts a session. Later requests of the session have a cookie. The headers `Host` and
/// `Origin` of each request must be names of the loopback address. Otherwise, a page of another site could read these
/// pages: its name can resolve to 127.0.0.1 (DNS rebinding).
public final class PageAccess: Sendable {
  /// Why a request is refused.
  public enum Refusal: Error, Equatable, Sendable {
    /// The host or the origin is not a name of the loopback address.
    case foreign
    /// The link was used before, or its token is wrong.
    case usedLink
    /// The request has no session.
    case noSession
    /// The reverse proxy has not named one user in this header.
    case noUser(header: String)
  }

  private struct State {
    var token: String?
    var sessions: [String] = []
  }

  /// The maximum number of sessions.
  ///
  /// Each session needs a new token.
  private static let sessionLimit = 16

  /// The name of the cookie.
  public let cookie: String
  /// The command that prints a new link, such as `crashctl web`.
  let command: String
  private let state: Mutex<State>

  /// Creates the access control for pages, with one token.
  ///
  /// `discriminator` makes the cookie's name unique, because browsers send the cookies of one port to all ports.
  public init(token: String, discriminator: String, command: String) {
    self.command = command
    cookie = "crash-web-\(discriminator.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(32))"
    state = Mutex(State(token: token))
  }

  /// Returns 256 random bits in hexadecimal digits.
  public static func secret() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<4).map { _ in
      let word: UInt64 = generator.next()
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// Replaces the one-time token, so that another browser can start a session.
  public func renew(token: String) { state.withLock { $0.token = token } }

  /// Exchanges the one-time token for a new session.
  /// - Returns: The value of the cookie.
  public func login(token: String) throws(Refusal) -> String {
    let session = Self.secret()
    let isKnown = state.withLock { state in
      guard let known = state.token, Self.isEqual(known, token), state.sessions.count < Self.sessionLimit else {
        return false
      }
      state.token = nil
      state.sessions.append(session)
      return true
    }
    guard isKnown else { throw .usedLink }
    return session
  }

  /// Checks the host, the origin and the cookie of a request.
  public func check(host: String?, origin: String?, cookies: [String]) throws(Refusal) {
    try checkPlace(host: host, origin: origin)
    let prefix = cookie + "="
    let values = cookies.joined(separator: ";").split(separator: ";").map { $0.drop { $0 == " " } }
      .filter { $0.hasPrefix(prefix) }.prefix(4).map { String($0.dropFirst(prefix.count)) }
    let isKnown = state.withLock { state in
      // Compare with every session, so that the time does not depend on the position of the matching session.
      var isKnown = false
      for session in state.sessions { for value in values where Self.isEqual(session, value) { isKnown = true } }
      return isKnown
    }
    guard isKnown else { throw .noSession }
  }

  /// Checks the host and the origin of a request.
  public func checkPlace(host: String?, origin: String?) throws(Refusal) {
    guard let host, Self.isLoopback(host) else { throw .foreign }
    if let origin, origin != "http://\(host)" { throw .foreign }
  }

  /// Whether a value of the header `Host` is a name of the loopback address, with any port.
  ///
  /// The port can differ from the listener's port, because ssh can forward another port. After DNS rebinding, the
  /// header has the name of the attacker's site.
  static func isLoopback(_ host: String) -> Bool {
    let names = ["localhost", "127.0.0.1", "[::1]"]
    guard let name = names.first(where: { host.lowercased().hasPrefix($0) }) else { return false }
    let rest = host.dropFirst(name.count)
    return rest.isEmpty || (rest.first == ":" && UInt16(rest.dropFirst()) != nil)
  }

  /// Compares two strings in a time that depends on their lengths only.
  static func isEqual(_ one: String, _ other: String) -> Bool {
    let (one, other) = (Array(one.utf8), Array(other.utf8))
    guard one.count == other.count else { return false }
    var difference: UInt8 = 0
    for index in one.indices { difference |= one[index] ^ other[index] }
    return difference == 0
  }
}
