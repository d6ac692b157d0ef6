/// Where a Sentry project takes events, as its settings page shows it: `https://KEY@HOST/PROJECT`.
public struct SentryDSN: Sendable, Equatable {
  /// Where envelopes are posted; no secret.
  var envelopeURL: String
  /// The header that lets us in; a secret.
  var authorization: String
  /// For the log.
  var host: String

  /// Reads a DSN; nil when it is none.
  public init?(_ text: String) {
    guard let url = SinkURL(text), let user = url.user else { return nil }
    // Old ones have a second key, which nobody uses any more.
    let key = user.prefix { $0 != ":" }
    var parts = url.path.split(separator: "/", omittingEmptySubsequences: true)
    guard let project = parts.popLast(), !key.isEmpty, key.utf8.allSatisfy(Self.isWord) else { return nil }
    let prefix = parts.map { "/\($0)" }.joined()
    host = url.host
    envelopeURL = "\(url.scheme)\(url.host)\(prefix)/api/\(project)/envelope/"
    authorization = "X-Sentry-Auth: Sentry sentry_version=7, sentry_client=swift-crash-shield/0.1, sentry_key=\(key)"
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
