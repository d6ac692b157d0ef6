import CrashProtocol
import CrashReport

/// Posts each crash as an event to Sentry, or to a server with Sentry's protocol.
public struct SentrySink: Sink {
  /// The name of the sink's cursor.
  public let name = "sentry"
  /// The environment, such as `production`.
  ///
  /// If nil, the sink uses the program's annotation `environment`.
  public var environment: String?
  /// The release, such as `shop@1.2`.
  ///
  /// If nil, the sink uses the program's annotation `release`. Without this annotation, the sink uses the program's
  /// name with the annotation `version` or the build id.
  public var release: String?
  /// The host name of this machine.
  public var host: String?

  private let dsn: SentryDSN
  private let http: HTTPClient

  /// Creates a sink for one project.
  public init(
    _ dsn: SentryDSN, http: HTTPClient, environment: String? = nil, release: String? = nil, host: String? = nil
  ) {
    (self.dsn, self.http) = (dsn, http)
    (self.environment, self.release, self.host) = (environment, release, host)
  }

  /// Posts the envelope of one crash.
  public func deliver(_ event: SinkEvent) -> Delivery {
    let body: [UInt8]
    do { body = try envelope(event.report) } catch { return .refused("cannot encode the report: \(error)") }
    let headers = ["Content-Type: application/x-sentry-envelope", dsn.authorization]
    return http.post(body, to: dsn.envelopeURL, headers: headers).delivery(from: dsn.host)
  }

  /// Returns the envelope: its header, the header of the item, and the item, one line each.
  func envelope(_ report: CrashReport) throws -> [UInt8] {
    let event = try SentryEvent(report: report, environment: environment, release: release, host: host).json.encoded()
    let header = try JSONValue.object(["event_id": .string(report.id)]).encoded()
    let item = try JSONValue.object(["type": .string("event"), "length": .int(event.count)]).encoded()
    let end = UInt8(ascii: "\n")
    return header + [end] + item + [end] + event + [end]
  }
}
