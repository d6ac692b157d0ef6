public import CrashClient
import CrashProtocol
import CrashReport
public import CrashSettings
internal import Glibc
public import LinuxSystem

/// Runs all sinks of one `crash-forward`.
///
/// Each sink has its own thread, and its own cursor in crashd.
public struct CrashForwarder: Sendable {
  private let runners: [SinkRunner]
  private let healthRunners: [HealthRunner]
  private let fleet: FleetRunner?
  private let stop: StopSignal

  /// Whether no sink is enabled.
  public var isIdle: Bool { runners.isEmpty && healthRunners.isEmpty && fleet == nil }

  /// Creates the sinks of the settings.
  /// - Throws: `SettingsError` if a setting is invalid.
  public init(
    _ settings: ForwardSettings, client: CrashClient, stop: StopSignal, board: SinkBoard, log: SinkLog
  ) throws(SettingsError) {
    self.stop = stop
    let around = SinkRunner.Surroundings(client: client, stop: stop, board: board, log: log)
    let scrubber: TextScrubber
    do throws(PatternProblem) { scrubber = try TextScrubber(settings.privacy) } catch {
      throw SettingsError(place: "privacy.patterns", reason: error.reason)
    }
    runners = try Self.sinks(settings, stop: stop).map { sink, common in
      SinkRunner(
        sink, subscriber: "\(settings.subscriber).\(sink.name)", filter: common.program, perMinute: common.perMinute,
        giveUpAfter: .seconds(settings.giveUpMinutes * 60), scrubber: common.scrubs ? scrubber : nil, around: around)
    }
    healthRunners = try Self.healthSinks(settings, scrubber, stop: stop).map { sink, program in
      HealthRunner(sink, filter: program, around: around)
    }
    fleet = try Self.client(settings, stop: stop).map { client in
      let common = settings.fleet
      return FleetRunner(
        client, subscriber: "\(settings.subscriber).\(FleetRunner.name)", filter: common.program,
        perMinute: common.perMinute, allowsProtection: settings.allowsFleetProtection,
        scrubber: common.scrubs ? scrubber : nil, around: around)
    }
  }

  /// Creates the receivers of the health of builds (how often each build crashes).
  private static func healthSinks(
    _ settings: ForwardSettings, _ scrubber: TextScrubber, stop: StopSignal
  ) throws(SettingsError) -> [(any HealthSink, program: String?)] {
    var sinks: [(any HealthSink, program: String?)] = []
    if settings.sendsSentrySessions, let secret = settings.sentryDSN, let dsn = SentryDSN(secret.text) {
      guard let directory = settings.stateDirectory else {
        throw SettingsError(
          place: "sentry.sessions", reason: "it needs state-directory, or StateDirectory= of the unit")
      }
      var sessions = SentrySessions(
        dsn, http: HTTPClient(caFile: settings.caFile, stop: stop), book: SessionBook(directory: directory))
      (sessions.environment, sessions.release) = (settings.sentryEnvironment, settings.sentryRelease)
      sessions.scrubber = settings.sentry.scrubs ? scrubber : nil
      sinks.append((sessions, settings.sentry.program))
    }
    if let url = settings.otlpMetricsEndpoint {
      let headers = try headers(settings.otlpHeaders, "otlp.headers")
      let http = HTTPClient(caFile: settings.caFile, stop: stop)
      guard var metrics = OTLPMetrics(url: url, headers: headers, http: http) else {
        throw SettingsError(
          place: "otlp.metrics-endpoint", reason: "it is not a URL such as http://127.0.0.1:4318/v1/metrics")
      }
      (metrics.host, metrics.environment) = (hostName(), settings.otlpEnvironment)
      metrics.scrubber = settings.otlp.scrubs ? scrubber : nil
      sinks.append((metrics, settings.otlp.program))
    }
    return sinks
  }

  private static func sinks(
    _ settings: ForwardSettings, stop: StopSignal
  ) throws(SettingsError) -> [(any Sink, ForwardSettings.Common)] {
    var sinks: [(any Sink, ForwardSettings.Common)] = []
    let host = hostName()
    if settings.isJournalOn {
      let journal = JournalSink(
        socketPath: settings.journalSocket, includesReport: settings.journalReport,
        imitatesCoredump: settings.journalCoredump)
      sinks.append((journal, settings.journal))
    }
    if let secret = settings.sentryDSN {
      guard let dsn = SentryDSN(secret.text) else {
        throw SettingsError(place: "sentry.dsn", reason: "it is not a DSN such as https://KEY@HOST/PROJECT")
      }
      let sentry = SentrySink(
        dsn, http: HTTPClient(caFile: settings.caFile, stop: stop), environment: settings.sentryEnvironment,
        release: settings.sentryRelease, host: host)
      sinks.append((sentry, settings.sentry))
    }
    if let endpoint = settings.otlpEndpoint {
      let headers = try Self.headers(settings.otlpHeaders, "otlp.headers")
      guard
        let otlp = OTLPSink(
          url: endpoint, headers: headers, http: HTTPClient(caFile: settings.caFile, stop: stop), host: host,
          environment: settings.otlpEnvironment)
      else {
        throw SettingsError(place: "otlp.endpoint", reason: "it is not a URL such as http://127.0.0.1:4318/v1/logs")
      }
      sinks.append((otlp, settings.otlp))
    }
    if let url = settings.webhookURL {
      let headers = try Self.headers(settings.webhookHeaders, "webhook.headers")
      guard
        var webhook = WebhookSink(
          url: url.text, headers: headers, http: HTTPClient(caFile: settings.caFile, stop: stop))
      else {
        throw SettingsError(
          place: "webhook.url", reason: "it is not a URL such as https://HOST/PATH, without a password")
      }
      (webhook.host, webhook.environment) = (host, settings.webhookEnvironment)
      (webhook.format, webhook.template) = (settings.webhookFormat, settings.webhookTemplate)
      sinks.append((webhook, settings.webhook))
    }
    return sinks
  }

  private static func client(_ settings: ForwardSettings, stop: StopSignal) throws(SettingsError) -> FleetClient? {
    guard let url = settings.fleetURL else { return nil }
    let identity = try settings.fleetIdentity()
    guard settings.fleetToken != nil || identity != nil else {
      throw SettingsError(
        place: "fleet.token",
        reason: "the fleet needs a token or a client certificate; 'crash-fleet token add' adds either")
    }
    let http = HTTPClient(caFile: settings.caFile, identity: identity, stop: stop)
    guard let client = FleetClient(url: url, token: settings.fleetToken?.text, http: http) else {
      throw SettingsError(place: "fleet.token", reason: "it is not a token as 'crash-fleet token add' prints it")
    }
    return client
  }

  private static func headers(_ secret: Secret?, _ key: String) throws(SettingsError) -> [String] {
    let lines = (secret?.text ?? "").split(whereSeparator: \.isNewline).map(String.init)
    // Every header line must have a colon, because libcurl interprets other lines differently. For example, `Name;`
    // sends a header without a value.
    guard lines.allSatisfy({ $0.contains(":") && !$0.hasPrefix(":") }) else {
      throw SettingsError(
        place: key, reason: "each line must be a header such as Authorization: Bearer TOKEN")
    }
    return lines
  }

  private static func hostName() -> String? {
    var bytes = [CChar](repeating: 0, count: 256)
    // Invariant: gethostname writes at most `bytes.count - 1` bytes, so the last byte stays zero, even if the name is
    // truncated.
    guard unsafe gethostname(&bytes, bytes.count - 1) == 0 else { return nil }
    return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Sends reports until `wait` returns, then waits up to five seconds for the sinks whose transfers are in progress.
  /// - Throws: `SystemError` if no thread can be created.
  public func run(untilStopped wait: () -> Void) throws(SystemError) {
    var ends: [StopSignal] = []
    func start(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
      let end = try StopSignal()
      try Thread.start(named: "sink") {
        body()
        end.stop()
      }
      ends.append(end)
    }
    for runner in runners {
      try start {
        var runner = runner
        runner.run()
      }
    }
    for runner in healthRunners {
      try start {
        var runner = runner
        runner.run()
      }
    }
    if let fleet {
      try start {
        var runner = fleet
        runner.run()
      }
    }
    wait()
    stop.stop()
    // Do not wait longer than five seconds in all: crashd sends a report again if it is not acknowledged.
    let deadline = ContinuousClock.now + .seconds(5)
    for end in ends { _ = end.wait(for: ContinuousClock.now.duration(to: deadline)) }
  }
}
