public import CrashReport

/// What `crash-forward` sends, and where.
public struct ForwardSettings: Sendable, Equatable {
  /// What every sink has.
  public struct Common: Sendable, Equatable {
    /// At most so many events a minute.
    public var perMinute: Int
    /// Only programs whose name contains this.
    public var program: String?
    /// Whether what the privacy rules name is taken out.
    public var scrubs = true
  }

  /// The least that is logged: error, warning, notice or debug; nil: notice.
  public var logLevel: String?
  /// crashd's socket; nil: the environment's, the system's or the user's.
  public var crashdSocket: String?
  /// Begins the names under which crashd keeps the cursors.
  public var subscriber = "crash-forward"
  /// What is taken out of reports.
  public var privacy = PrivacySettings()
  /// Certificates to trust instead of the machine's.
  public var caFile: String?
  /// A report that a server has answered for so long without taking it is left out.
  public var giveUpMinutes = 60

  /// Whether crashes go into the journal.
  public var isJournalOn = false
  /// What the journal's sink has in common with others.
  public var journal = Common(perMinute: 600)
  /// journald's socket.
  public var journalSocket = "/run/systemd/journal/socket"
  /// Whether an entry holds the whole report.
  public var journalReport = true
  /// Whether there is a second entry for coredumpctl.
  public var journalCoredump = false

  /// The DSN of a Sentry project; a secret.
  public var sentryDSN: Secret?
  /// What Sentry's sink has in common with others.
  public var sentry = Common(perMinute: 60)
  /// Such as `production`.
  public var sentryEnvironment: String?
  /// Such as `shop@1.2`.
  public var sentryRelease: String?

  /// Where an OpenTelemetry collector takes logs.
  public var otlpEndpoint: String?
  /// Further headers, a line each; a secret.
  public var otlpHeaders: Secret?
  /// What the collector's sink has in common with others.
  public var otlp = Common(perMinute: 600)
  /// Such as `production`.
  public var otlpEnvironment: String?

  /// Sends nothing anywhere.
  public init() {}
}

/// A text that is never shown.
public struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
  /// What it is.
  let text: String

  init(_ text: String) { self.text = text }

  /// Says only that there is one.
  public var description: String { "(secret)" }
  /// Says only that there is one.
  public var debugDescription: String { description }
}
