import CrashProtocol
import CrashReport

/// Posts each crash as a log record to an OpenTelemetry collector (OTLP/HTTP with JSON).
public struct OTLPSink: Sink {
  /// The name of the sink's cursor.
  public let name = "otlp"
  /// The host name of this machine.
  public var host: String?
  /// The environment, such as `production`.
  ///
  /// If nil, the sink uses the program's annotation `environment`.
  public var environment: String?

  private let url: String
  private let server: String
  private let headers: [String]
  private let http: HTTPClient

  /// Creates a sink for one collector.
  ///
  /// Fails if `url` is not a valid URL such as `http://127.0.0.1:4318/v1/logs`.
  ///
  /// `headers` are additional headers, such as `Authorization: Bearer …`.
  public init?(url: String, headers: [String] = [], http: HTTPClient, host: String? = nil, environment: String? = nil) {
    guard Self.takes(url: url), let parts = SinkURL(url) else { return nil }
    (self.url, server, self.headers) = (url, parts.host, ["Content-Type: application/json"] + headers)
    (self.http, self.host, self.environment) = (http, host, environment)
  }

  /// Returns whether the URL is a valid setting.
  ///
  /// The URL must not contain a password, because the settings file does not contain secrets. A header can contain a
  /// secret, because headers come from a separate file or from the environment.
  @Sendable static func takes(url: String) -> Bool {
    guard let parts = SinkURL(url) else { return false }
    return parts.user == nil && !parts.path.isEmpty
  }

  /// Posts the log record of one crash.
  public func deliver(_ event: SinkEvent) -> Delivery {
    let body: [UInt8]
    do {
      body = try OTLPRecord(report: event.report, host: host, environment: environment).json.encoded()
    } catch { return .refused("cannot encode the report: \(error)") }
    let answer = http.post(body, to: url, headers: headers)
    let delivery = answer.delivery(from: server)
    if delivery == .delivered, let words = Self.rejection(answer.body) {
      return .refused("\(server) rejects the report\(words)")
    }
    return delivery
  }

  /// Returns the reason of a rejection.
  ///
  /// A collector can answer with the status 200 and still reject the record.
  private static func rejection(_ body: [UInt8]) -> String? {
    guard let partial = JSONValue.decoded(body)?["partialSuccess"] else { return nil }
    // Accept a string as well, because protobuf's JSON can encode a 64-bit number as a string.
    let rejected = partial["rejectedLogRecords"].flatMap { $0.int ?? $0.string.flatMap { Int($0) } } ?? 0
    guard rejected > 0 else { return nil }
    // Limit the number of Unicode scalars, because a single `Character` from a server can be arbitrarily long.
    let words = partial["errorMessage"]?.string?.unicodeScalars.prefix(200).map(Character.init)
    return words.map { ": \(CleanText.line(String($0)))" } ?? ""
  }
}
