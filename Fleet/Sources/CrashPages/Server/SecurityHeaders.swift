internal import HTTPTypes

/// The headers of every response.
enum SecurityHeaders {
  /// The Content-Security-Policy, which forbids inline scripts and styles, requests to other origins, and frames.
  static let policy = [
    "default-src 'none'", "style-src 'self'", "script-src 'self'", "img-src 'self'", "connect-src 'self'",
    "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
  ].joined(separator: "; ")

  static let fields: HTTPFields = {
    var fields = HTTPFields()
    let named = [
      "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
      // The URL of the login link, which `crashctl web` prints, contains the one-time token. The browser must not send
      // this URL to other sites in a `Referer` header.
      "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
      "Cross-Origin-Resource-Policy": "same-origin",
    ]
    for (name, value) in named { if let name = HTTPField.Name(name) { fields[name] = value } }
    return fields
  }()
}
