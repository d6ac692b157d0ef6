import CrashProtocol
import CrashReport

/// Posts a summary of each crash as JSON to a web server, such as a chat service or a program of the operator.
public struct WebhookSink: Sink {
  /// The format of the body.
  public enum Format: String, Sendable, CaseIterable {
    /// A JSON object with the fields of the summary.
    case json
    /// A JSON object with one member `text`, a string in Slack's markup.
    case slack
  }

  /// The name of the sink's cursor.
  public let name = "webhook"
  /// The host name of this machine.
  public var host: String?
  /// The environment, such as `production`.
  ///
  /// If nil, the sink uses the program's annotation `environment`.
  public var environment: String?
  /// The format of the body.
  ///
  /// The format determines how values are escaped, and which body is sent if there is no template.
  public var format = Format.json
  /// The template of the body.
  ///
  /// If nil, the sink sends the standard body of the format.
  public var template: WebhookTemplate?

  private let url: String
  private let server: String
  private let headers: [String]
  private let http: HTTPClient

  /// Creates a sink for one URL.
  ///
  /// Fails if `url` is not a valid URL such as `https://hooks.example.org/T0/B0/XX`.
  ///
  /// `headers` are additional headers, such as `Authorization: Bearer …`.
  public init?(url: String, headers: [String] = [], http: HTTPClient) {
    guard Self.takes(url: url), let parts = SinkURL(url, allowsQuery: true) else { return nil }
    (self.url, server, self.http) = (url, parts.host, http)
    self.headers = ["Content-Type: application/json"] + headers
  }

  /// Returns whether the URL is valid.
  ///
  /// The URL must not contain a password, because a header can contain the password instead.
  @Sendable static func takes(url: String) -> Bool {
    guard let parts = SinkURL(url, allowsQuery: true) else { return false }
    return parts.user == nil && !parts.path.isEmpty
  }

  /// Posts one summary.
  ///
  /// Messages contain only the name of the server, because the path of a webhook contains its key.
  public func deliver(_ event: SinkEvent) -> Delivery {
    let body: [UInt8]
    do { body = try json(event.report).encoded() } catch { return .refused("cannot encode the report: \(error)") }
    return http.post(body, to: url, headers: headers).delivery(from: server, quotesBody: false)
  }

  func json(_ report: CrashReport) -> JSONValue {
    let summary = WebhookSummary(report: report, host: host, environment: environment)
    switch format {
    case .json: return template?.filled(summary) ?? summary.json
    case .slack: return (template ?? .slack).filled(summary, escape: WebhookTemplate.slackText)
    }
  }
}
