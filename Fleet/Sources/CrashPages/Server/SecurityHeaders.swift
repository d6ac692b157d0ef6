internal import HTTPTypes

/// The headers of every answer.
enum SecurityHeaders {
  /// No inline script or style, no request to another machine, no frame.
  static let policy = [
    "default-src 'none'", "style-src 'self'", "script-src 'self'", "img-src 'self'", "connect-src 'self'",
    "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
  ].joined(separator: "; ")

  static let fields: HTTPFields = {
    var fields = HTTPFields()
    let named = [
      "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
      // The link contains the token.
      "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
      "Cross-Origin-Resource-Policy": "same-origin",
    ]
    for (name, value) in named { if let name = HTTPField.Name(name) { fields[name] = value } }
    return fields
  }()
}
