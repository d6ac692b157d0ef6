import CrashProtocol
import CrashReport

/// Posts each crash as an event to Sentry, or to a server that speaks its protocol.
public struct SentrySink: Sink {
  /// The cursor's name.
  public let name = "sentry"
  /// Such as `production`; nil: what the program says by its annotation `environment`.
  public var environment: String?
  /// nil: the annotation `release`, else the program's name with its annotation `version` or its build id.
  public var release: String?
  /// This machine's name.
  public var host: String?

  private let dsn: SentryDSN
  private let http: HTTPClient

  /// A sink for one project.
  public init(
    _ dsn: SentryDSN, http: HTTPClient, environment: String? = nil, release: String? = nil, host: String? = nil
  ) {
    (self.dsn, self.http) = (dsn, http)
    (self.environment, self.release, self.host) = (environment, release, host)
  }

  /// Posts one envelope.
  public func deliver(_ event: SinkEvent) -> Delivery {
    let body: [UInt8]
    do { body = try envelope(event.report) } catch { return .refused("it has no JSON form: \(error)") }
    let headers = ["Content-Type: application/x-sentry-envelope", dsn.authorization]
    return http.post(body, to: dsn.envelopeURL, headers: headers).delivery(from: dsn.host)
  }

  /// The envelope's header, the item's, the item: a line each.
  func envelope(_ report: CrashReport) throws -> [UInt8] {
    let event = try SentryEvent(report: report, environment: environment, release: release, host: host).json.encoded()
    let header = try JSONValue.object(["event_id": .string(report.id)]).encoded()
    let item = try JSONValue.object(["type": .string("event"), "length": .int(event.count)]).encoded()
    let end = UInt8(ascii: "\n")
    return header + [end] + item + [end] + event + [end]
  }
}
