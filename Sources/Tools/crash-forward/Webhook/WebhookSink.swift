import CrashProtocol
import CrashReport

/// Posts a summary of each crash as JSON to a web server: a chat service, or a program of the operator.
public struct WebhookSink: Sink {
  /// The form of the body.
  public enum Format: String, Sendable, CaseIterable {
    /// The fields of the summary.
    case json
    /// A text with Slack's markup.
    case slack
  }

  /// The cursor's name.
  public let name = "webhook"
  /// This machine's name.
  public var host: String?
  /// Such as `production`; nil: what the program says by its annotation `environment`.
  public var environment: String?
  /// How values are escaped, and the body without a template.
  public var format = Format.json
  /// The body; nil: that of the format.
  public var template: WebhookTemplate?

  private let url: String
  private let server: String
  private let headers: [String]
  private let http: HTTPClient

  /// A sink for one address; nil when `url`, such as `https://hooks.example.org/T0/B0/XX`, is none.
  ///
  /// `headers` are more of them, such as `Authorization: Bearer …`.
  public init?(url: String, headers: [String] = [], http: HTTPClient) {
    guard Self.takes(url: url), let parts = SinkURL(url, allowsQuery: true) else { return nil }
    (self.url, server, self.http) = (url, parts.host, http)
    self.headers = ["Content-Type: application/json"] + headers
  }

  /// A password belongs into a header.
  @Sendable static func takes(url: String) -> Bool {
    guard let parts = SinkURL(url, allowsQuery: true) else { return false }
    return parts.user == nil && !parts.path.isEmpty
  }

  /// Posts one summary.
  ///
  /// Messages name the server alone: the path of a webhook is its key.
  public func deliver(_ event: SinkEvent) -> Delivery {
    let body: [UInt8]
    do { body = try json(event.report).encoded() } catch { return .refused("it has no JSON form: \(error)") }
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
