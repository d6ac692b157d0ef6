import HTTPTypes

/// The refusal of a request: a stable code, and one sentence that says what to do.
struct Refusal: Error, Sendable, Equatable {
  /// The codes for whole requests.
  ///
  /// Clients can rely on them.
  ///
  /// The codes for single items are in `IngestProblem`.
  enum Code: String, Sendable, CaseIterable {
    case unauthorized
    case unknownTokens = "too-many-unknown-tokens"
    case bodyTooLarge = "body-too-large"
    case unknownEncoding = "unknown-encoding"
    case notGzip = "not-gzip"
    case notZstd = "not-zstd"
    case tooSlow = "too-slow"
    case malformed = "malformed-body"
    case tooManyRequests = "too-many-requests"
    case busy
    case database
    case missingParameter = "missing-parameter"
    case internalError = "internal-error"

    var status: HTTPResponse.Status {
      switch self {
      case .unauthorized: .unauthorized
      case .unknownTokens, .tooManyRequests: .tooManyRequests
      case .bodyTooLarge: .contentTooLarge
      case .unknownEncoding: .unsupportedMediaType
      case .notGzip, .notZstd, .malformed, .missingParameter: .badRequest
      case .tooSlow: .requestTimeout
      case .busy, .database: .serviceUnavailable
      case .internalError: .internalServerError
      }
    }

    /// The delay before the next attempt that the response asks the client for, in seconds.
    var retryAfter_s: Int? {
      switch self {
      case .unknownTokens, .tooManyRequests, .busy: 1
      case .database: 2
      default: nil
      }
    }

    /// Whether the service closes the connection, because the client can still be sending a body.
    var endsConnection: Bool {
      switch self {
      case .unauthorized, .unknownTokens, .bodyTooLarge, .tooSlow, .tooManyRequests, .busy: true
      default: false
      }
    }
  }

  var code: Code
  var text: String

  init(_ code: Code, _ text: String) { (self.code, self.text) = (code, text) }
}
