public import CrashReport

/// The settings of `crash-forward`.
public struct ForwardSettings: Sendable, Equatable {
  /// The settings of every sink.
  public struct Common: Sendable, Equatable {
    /// The rate limit in events a minute.
    public var perMinute: Int
    /// Only programs whose name contains this.
    public var program: String?
    /// Whether the privacy rules apply.
    public var scrubs = true
  }

  /// The lowest logged level: error, warning, notice or debug; nil means notice.
  public var logLevel: String?
  /// crashd's socket; nil: the environment's, the system's or the user's.
  public var crashdSocket: String?
  /// The prefix of the subscriber names in crashd.
  public var subscriber = "crash-forward"
  /// The privacy rules.
  public var privacy = PrivacySettings()
  /// Certificates to trust instead of the machine's.
  public var caFile: String?
  /// The time after which a report that the server answers but does not accept is dropped.
  public var giveUpMinutes = 60

  /// Whether crashes go into the journal.
  public var isJournalOn = false
  /// The common settings of the journal's sink.
  public var journal = Common(perMinute: 600)
  /// journald's socket.
  public var journalSocket = "/run/systemd/journal/socket"
  /// Whether an entry holds the whole report.
  public var journalReport = true
  /// Whether there is a second entry for coredumpctl.
  public var journalCoredump = false

  /// The DSN of a Sentry project; a secret.
  public var sentryDSN: Secret?
  /// The common settings of Sentry's sink.
  public var sentry = Common(perMinute: 60)
  /// Such as `production`.
  public var sentryEnvironment: String?
  /// Such as `shop@1.2`.
  public var sentryRelease: String?

  /// The logs endpoint of an OpenTelemetry collector.
  public var otlpEndpoint: String?
  /// Further headers, a line each; a secret.
  public var otlpHeaders: Secret?
  /// The common settings of the collector's sink.
  public var otlp = Common(perMinute: 600)
  /// Such as `production`.
  public var otlpEnvironment: String?

  /// The address of a webhook; a secret, because its path often is its key.
  public var webhookURL: Secret?
  /// Further headers, a line each; a secret.
  public var webhookHeaders: Secret?
  /// The form of the body.
  public var webhookFormat = WebhookSink.Format.json
  /// The body in place of the format's own; nil: that one.
  public var webhookTemplate: WebhookTemplate?
  /// The file of the template.
  var webhookTemplateFile: String?
  /// The common settings of the webhook's sink; chat services take about one message a second.
  public var webhook = Common(perMinute: 30)
  /// Such as `production`.
  public var webhookEnvironment: String?

  /// Creates settings without a sink.
  public init() {}
}

/// A text that is never printed.
public struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
  /// The secret.
  let text: String

  init(_ text: String) { self.text = text }

  /// Shows only that there is one.
  public var description: String { "(secret)" }
  /// Shows only that there is one.
  public var debugDescription: String { description }
}
