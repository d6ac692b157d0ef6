public import CrashReport
import CrashSettings

/// The settings of `crash-forward`.
public struct ForwardSettings: Sendable, Equatable {
  /// The settings that every sink has.
  public struct Common: Sendable, Equatable {
    /// The rate limit in events a minute.
    public var perMinute: Int
    /// The sink receives only crashes of programs whose name contains this string.
    public var program: String?
    /// Whether the privacy rules apply to the sink.
    public var scrubs = true
  }

  /// The lowest logged level: error, warning, notice or debug; nil means notice.
  public var logLevel: String?
  /// The path of crashd's socket; if nil, `SocketPath.find` chooses the socket.
  public var crashdSocket: String?
  /// The prefix of the subscriber names in crashd.
  public var subscriber = "crash-forward"
  /// The rules for scrubbing reports before they are sent.
  public var privacy = PrivacySettings()
  /// The path of a file with the certificates to trust, instead of the machine's certificates.
  public var caFile: String?
  /// The directory of files that survive a restart; nil uses the unit's `StateDirectory=`.
  public var stateDirectory: String?
  /// The number of minutes after which a report is dropped if the server answers but does not accept the report.
  public var giveUpMinutes = 60

  /// Whether crashes are written to the journal.
  public var isJournalOn = false
  /// The common settings of the journal's sink.
  public var journal = Common(perMinute: 600)
  /// The path of journald's socket.
  public var journalSocket = "/run/systemd/journal/socket"
  /// Whether an entry contains the whole report.
  public var journalReport = true
  /// Whether to write a second entry for coredumpctl.
  public var journalCoredump = false

  /// The DSN of a Sentry project, which is a secret.
  public var sentryDSN: Secret?
  /// The common settings of Sentry's sink.
  public var sentry = Common(perMinute: 60)
  /// The environment, such as `production`.
  public var sentryEnvironment: String?
  /// The release, such as `shop@1.2`.
  public var sentryRelease: String?
  /// Whether the requests of builds are sent as sessions.
  public var sendsSentrySessions = false

  /// The logs endpoint of an OpenTelemetry collector.
  public var otlpEndpoint: String?
  /// Additional headers, one per line, which are a secret.
  public var otlpHeaders: Secret?
  /// The common settings of the collector's sink.
  public var otlp = Common(perMinute: 600)
  /// The environment, such as `production`.
  public var otlpEnvironment: String?
  /// The metrics endpoint of the collector; nil sends no metrics.
  public var otlpMetricsEndpoint: String?

  /// The URL of a webhook.
  ///
  /// The URL is a secret, because the path of a webhook often contains a key.
  public var webhookURL: Secret?
  /// Additional headers, one per line, which are a secret.
  public var webhookHeaders: Secret?
  /// The format of the body.
  public var webhookFormat = WebhookSink.Format.json
  /// The template of the body, which replaces the standard body of the format.
  ///
  /// If nil, the sink sends the standard body of the format.
  public var webhookTemplate: WebhookTemplate?
  /// The path of the template's file.
  var webhookTemplateFile: String?
  /// The common settings of the webhook's sink.
  ///
  /// The default rate is low, because chat services accept only about one message per second.
  public var webhook = Common(perMinute: 30)
  /// The environment, such as `production`.
  public var webhookEnvironment: String?

  /// The address of the fleet's service.
  public var fleetURL: String?
  /// The token for the fleet, which is a secret.
  public var fleetToken: Secret?
  /// Whether the fleet may request that crashd protects a class against use-after-free.
  public var allowsFleetProtection = false
  /// The path of the client certificate for the fleet.
  public var fleetCertificate: String?
  /// The path of the key of the client certificate.
  public var fleetKey: String?
  /// The common settings of the fleet's sink.
  ///
  /// The rate limits whole reports. Crashes above the rate are only counted.
  public var fleet = Common(perMinute: 600)

  /// Creates settings in which no sink is enabled.
  public init() {}

  /// Returns the client certificate for the fleet; nil if there is none.
  /// - Throws: `SettingsError` if the settings cannot be used together.
  func fleetIdentity() throws(SettingsError) -> ClientIdentity? {
    switch (fleetCertificate, fleetKey) {
    case (nil, nil): return nil
    case (let certificate?, let key?):
      guard fleetURL?.hasPrefix("http://") != true else {
        throw SettingsError(place: "fleet.url", reason: "a client certificate needs a URL that begins with https://")
      }
      return ClientIdentity(certificate: certificate, key: key)
    default:
      throw SettingsError(
        place: "fleet", reason: "fleet.certificate-file and fleet.key-file belong together; set both")
    }
  }
}

/// A string that logs and messages never contain.
public struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
  /// The secret itself, as text.
  let text: String

  init(_ text: String) { self.text = text }

  /// Hides the secret.
  public var description: String { "(secret)" }
  /// Hides the secret.
  public var debugDescription: String { description }
}
