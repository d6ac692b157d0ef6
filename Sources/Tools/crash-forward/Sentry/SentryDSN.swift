import CrashProtocol

/// The DSN of a Sentry project, as the project's settings page shows it: `https://KEY@HOST/PROJECT`.
public struct SentryDSN: Sendable, Equatable {
  /// The URL for envelopes, which is not a secret.
  var envelopeURL: String
  /// The authorization header, which is a secret.
  var authorization: String
  /// The host name, which log lines show.
  var host: String

  /// Parses a DSN; fails if it is invalid.
  public init?(_ text: String) {
    guard let url = SinkURL(text), let user = url.user else { return nil }
    // Ignore the second key, which only older DSNs contain and which is obsolete.
    let key = user.prefix { $0 != ":" }
    var parts = url.path.split(separator: "/", omittingEmptySubsequences: true)
    guard let project = parts.popLast(), !key.isEmpty, key.utf8.allSatisfy(Self.isWord) else { return nil }
    let prefix = parts.map { "/\($0)" }.joined()
    host = url.host
    envelopeURL = "\(url.scheme)\(url.host)\(prefix)/api/\(project)/envelope/"
    let client = "swift-crash-shield/\(ProductVersion.number)"
    authorization = "X-Sentry-Auth: Sentry sentry_version=7, sentry_client=\(client), sentry_key=\(key)"
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
