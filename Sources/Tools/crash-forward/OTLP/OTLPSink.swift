import CrashProtocol
import CrashReport

/// Posts each crash as a log record to an OpenTelemetry collector (OTLP/HTTP with JSON).
public struct OTLPSink: Sink {
  /// The cursor's name.
  public let name = "otlp"
  /// This machine's name.
  public var host: String?
  /// Such as `production`; nil: what the program says by its annotation `environment`.
  public var environment: String?

  private let url: String
  private let server: String
  private let headers: [String]
  private let http: HTTPClient

  /// A sink for one collector; nil when `url`, such as `http://127.0.0.1:4318/v1/logs`, is none.
  ///
  /// `headers` are more of them, such as `Authorization: Bearer …`.
  public init?(url: String, headers: [String] = [], http: HTTPClient, host: String? = nil, environment: String? = nil) {
    guard Self.takes(url: url), let parts = SinkURL(url) else { return nil }
    (self.url, server, self.headers) = (url, parts.host, ["Content-Type: application/json"] + headers)
    (self.http, self.host, self.environment) = (http, host, environment)
  }

  /// A password would have to stand in the settings: it belongs into a header.
  @Sendable static func takes(url: String) -> Bool {
    guard let parts = SinkURL(url) else { return false }
    return parts.user == nil && !parts.path.isEmpty
  }

  /// Posts one record.
  public func deliver(_ event: SinkEvent) -> Delivery {
    let body: [UInt8]
    do {
      body = try OTLPRecord(report: event.report, host: host, environment: environment).json.encoded()
    } catch { return .refused("it has no JSON form: \(error)") }
    let answer = http.post(body, to: url, headers: headers)
    let delivery = answer.delivery(from: server)
    if delivery == .delivered, let words = Self.rejection(answer.body) {
      return .refused("\(server) rejects it\(words)")
    }
    return delivery
  }

  /// A collector may say 200 and that it has not taken the record all the same.
  private static func rejection(_ body: [UInt8]) -> String? {
    guard let partial = JSONValue.decoded(body)?["partialSuccess"] else { return nil }
    // Protobuf's JSON allows a text for 64 bits.
    let rejected = partial["rejectedLogRecords"].flatMap { $0.int ?? $0.string.flatMap { Int($0) } } ?? 0
    guard rejected > 0 else { return nil }
    // Of letters, of which a server can make one as long as it likes, it is not so many.
    let words = partial["errorMessage"]?.string?.unicodeScalars.prefix(200).map(Character.init)
    return words.map { ": \(CleanText.line(String($0)))" } ?? ""
  }
}
