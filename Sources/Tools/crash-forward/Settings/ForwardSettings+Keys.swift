import CrashReport
import CrashSettings

extension ForwardSettings {
  typealias Key = SettingKey<ForwardSettings>

  private static let secretLimitBytes = 16 << 10

  /// Returns the table of all keys, which `systemd/crash-forward.yaml` explains.
  ///
  /// The settings file does not contain secrets. A secret comes from a separate file that the settings name
  /// (`sentry.dsn-file`), or from the environment. `credentials` is the directory in which systemd stores the files of
  /// `LoadCredential=`.
  static func table(credentials: String?) -> SettingsTable<ForwardSettings> {
    let secrets = keys.filter(\.isSecret).map { file(of: $0, credentials) }
    let files: [Key] = [
      .pemFile("fleet.certificate-file", \.fleetCertificate, "CERTIFICATE", credentials),
      .pemFile("fleet.key-file", \.fleetKey, "PRIVATE KEY", credentials),
    ]
    return SettingsTable(
      keys + secrets + files, variablesBegin: "CRASH_FORWARD_", but: ["CRASH_FORWARD_CONFIG"], tellsValues: false)
  }

  // The keys are in several arrays, because type-checking a single array takes too long.
  private static let keys = general + journalKeys + sentryKeys + otlpKeys + webhookKeys + fleetKeys + privacyKeys

  private static let general: [Key] = [
    .text("log-level", \.logLevel, "error, warning, notice or debug") {
      ["error", "warning", "notice", "debug"].contains($0)
    },
    .path("crashd-socket", \.crashdSocket),
    .requiredText("subscriber", \.subscriber, "a name of at most 48 letters, digits, - and _", where: isName),
    .path("ca-file", \.caFile),
    .path("state-directory", \.stateDirectory),
    .number("give-up-after", \.giveUpMinutes, "minutes,", 1...100_000),
  ]

  private static let journalKeys: [Key] =
    [
      .flag("journal.enabled", \.isJournalOn),
      .requiredText("journal.socket", \.journalSocket, "a path", where: SettingText.isPath),
      .flag("journal.report", \.journalReport),
      .flag("journal.coredump-entries", \.journalCoredump),
    ] + common("journal", \.journal.perMinute, \.journal.program, \.journal.scrubs)

  private static let sentryKeys: [Key] =
    [
      secret("sentry.dsn", \.sentryDSN, "a DSN such as https://KEY@HOST/PROJECT"),
      .text("sentry.environment", \.sentryEnvironment, "a name"),
      .text("sentry.release", \.sentryRelease, "a name") { !$0.isEmpty && !$0.contains("/") },
      .flag("sentry.sessions", \.sendsSentrySessions),
    ] + common("sentry", \.sentry.perMinute, \.sentry.program, \.sentry.scrubs)

  private static let otlpKeys: [Key] =
    [
      .text(
        "otlp.endpoint", \.otlpEndpoint, "a URL such as http://127.0.0.1:4318/v1/logs, without a password",
        where: OTLPSink.takes(url:)),
      secret("otlp.headers", \.otlpHeaders, "lines such as Authorization: Bearer TOKEN"),
      .text("otlp.environment", \.otlpEnvironment, "a name"),
      .text(
        "otlp.metrics-endpoint", \.otlpMetricsEndpoint,
        "a URL such as http://127.0.0.1:4318/v1/metrics, without a password", where: OTLPSink.takes(url:)),
    ] + common("otlp", \.otlp.perMinute, \.otlp.program, \.otlp.scrubs)

  private static let webhookKeys: [Key] =
    [
      secret("webhook.url", \.webhookURL, "a URL such as https://HOST/PATH, without a password"),
      secret("webhook.headers", \.webhookHeaders, "lines such as Authorization: Bearer TOKEN"),
      .value(
        "webhook.format", \.webhookFormat, "json or slack", { WebhookSink.Format(rawValue: $0) }, { $0.rawValue }),
      template,
      .text("webhook.environment", \.webhookEnvironment, "a name"),
    ] + common("webhook", \.webhook.perMinute, \.webhook.program, \.webhook.scrubs)

  private static let fleetKeys: [Key] =
    [
      .text(
        "fleet.url", \.fleetURL, "a URL such as https://fleet.example.org:8320, without a path or password",
        where: FleetClient.takes(url:)),
      secret("fleet.token", \.fleetToken, "a token as 'crash-fleet token add' prints it"),
      .flag("fleet.allow-protection", \.allowsFleetProtection),
    ] + common("fleet", \.fleet.perMinute, \.fleet.program, \.fleet.scrubs)

  private static let template = Key(
    name: "webhook.template-file", takes: "the path of a file",
    apply: { settings, value throws(SettingProblem) in
      guard case .text(let path) = value, SettingText.isPath(path) else { return false }
      let text: String
      do throws(SettingProblem) {
        text = try SettingText.contents(of: path, limitBytes: secretLimitBytes)
      } catch { throw SettingProblem("the file of webhook.template-file: \(error.reason)") }
      settings.webhookTemplate = try WebhookTemplate(text)
      settings.webhookTemplateFile = path
      return true
    }, show: { $0.webhookTemplateFile ?? "" })

  private static let privacyKeys: [Key] = [
    .list("privacy.annotations", \.privacy.annotations, "parts of keys of annotations", separator: nil) {
      !$0.contains("")
    },
    .list("privacy.patterns", \.privacy.patterns, "regular expressions", separator: nil) {
      $0.allSatisfy(TextScrubber.understands)
    },
    .flag("privacy.home-directories", \.privacy.homeDirectories),
    .flag("privacy.command-line", \.privacy.commandLine),
  ]

  private static func common(
    _ sink: String, _ perMinute: Key.Path<Int>, _ program: Key.Path<String?>, _ scrubs: Key.Path<Bool>
  ) -> [Key] {
    [
      .number("\(sink).rate", perMinute, "events a minute,", 1...60_000),
      .text("\(sink).program", program, "a part of a program's name"),
      .flag("\(sink).scrub", scrubs),
    ]
  }

  private static func secret(_ name: String, _ path: Key.Path<Secret?>, _ takes: String) -> Key {
    var key = Key.value(
      name, path, takes, { $0.isEmpty ? .none : .some(.some(Secret($0))) }, { $0.map { "\($0)" } ?? "" })
    key.isSecret = true
    return key
  }

  /// Returns the key that names the file of a secret.
  ///
  /// Error messages do not repeat the path, because a user can have entered the secret itself instead of the path.
  private static func file(of secret: Key, _ credentials: String?) -> Key {
    Key(
      name: secret.name + "-file", takes: "the path of a file",
      apply: { settings, value throws(SettingProblem) in
        guard case .text(let file) = value else { return false }
        let path = try Self.path(of: file, credentials)
        let text: String
        do throws(SettingProblem) {
          text = try SettingText.contents(of: path, limitBytes: secretLimitBytes)
        } catch { throw SettingProblem("the file of \(secret.name): \(error.reason)") }
        let isTaken = try secret.apply(&settings, .text(String(text.reversed().drop(while: \.isWhitespace).reversed())))
        guard isTaken else { throw SettingProblem("\(secret.name) takes \(secret.takes)") }
        return true
      })
  }

  @Sendable private static func isName(_ text: String) -> Bool {
    (1...48).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }

  /// Returns the path of a file.
  ///
  /// `file` is an absolute path, or the name of a credential.
  fileprivate static func path(of file: String, _ credentials: String?) throws(SettingProblem) -> String {
    if file.hasPrefix("/") { return file }
    guard let credentials, !file.contains("/"), !file.isEmpty else {
      throw SettingProblem("give the absolute path of a file, or the name of a credential of the unit")
    }
    return "\(credentials)/\(file)"
  }
}

extension SettingKey<ForwardSettings> {
  /// Creates a key that names a PEM file, which libcurl reads for each connection.
  ///
  /// The check reads the file, so that a wrong path is an error at the start.
  fileprivate static func pemFile(
    _ name: String, _ path: Path<String?>, _ kind: String, _ credentials: String?
  ) -> Self {
    Self(
      name: name, takes: "the path of a file",
      apply: { settings, value throws(SettingProblem) in
        guard case .text(let file) = value else { return false }
        let found = try ForwardSettings.path(of: file, credentials)
        let text: String
        do throws(SettingProblem) { text = try SettingText.contents(of: found, limitBytes: 1 << 20) } catch {
          throw SettingProblem("'\(found)', the file of \(name): \(error.reason)")
        }
        // Both PEM formats of a key with a password contain the word ENCRYPTED. A certificate contains it at most in a
        // comment.
        guard text.contains("\(kind)-----"), kind == "CERTIFICATE" || !text.contains("ENCRYPTED") else {
          throw SettingProblem("'\(found)', the file of \(name), has no \(kind) in PEM without a password")
        }
        settings[keyPath: path] = found
        return true
      }, show: { $0[keyPath: path] ?? "" })
  }
}
