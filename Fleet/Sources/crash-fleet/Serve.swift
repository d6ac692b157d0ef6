import ArgumentParser
import CrashReport
import SettingsFiles
import FleetServer
import FleetStore
import Glibc
import LinuxSystem
import Logging

/// Serves requests until SIGTERM or SIGINT.
struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Serve hosts until SIGTERM or SIGINT")

  @OptionGroup var options: SettingsOptions

  func run() async throws {
    let settings = try options.read()
    let listener = try settings.tlsListener()
    var log = Logger(label: "crash-fleet") { _ in LineLog() }
    let levels: [String: Logger.Level] = ["error": .error, "warning": .warning, "notice": .notice, "debug": .debug]
    log.logLevel = settings.logLevel.flatMap { levels[$0] } ?? .notice
    let store = FleetStore(settings.storeConfiguration)
    try await store.checkSchema()
    try await store.maintain()
    let (logger, notifier) = (log, Notifier(environment: processEnvironment(), timeout_ms: 1_000))
    try await FleetServer(store, on: listener, limits: settings.limits, log: log).run { port in
      let scheme = listener.tls == nil ? "http" : "https"
      let host = listener.host.contains(":") ? "[\(listener.host)]" : listener.host
      logger.notice("listening on \(scheme)://\(host):\(port)")
      notifier.send("READY=1")
    }
    await store.close()
  }
}

/// Writes log lines to standard error, with the level prefix of sd-daemon(3) for the journal.
private struct LineLog: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.notice

  private static let isJournal = unsafe getenv("JOURNAL_STREAM") != nil

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let facts = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    let text = CleanText.line("\(event.message)\(facts)")
    let severity =
      switch event.level {
      case .critical, .error: 3
      case .warning: 4
      case .notice: 5
      case .info: 6
      case .debug, .trace: 7
      }
    let line = Array("\(Self.isJournal ? "<\(severity)>" : "crash-fleet: ")\(text)\n".utf8)
    // Invariant: write reads as many bytes as the array has.
    _ = unsafe Glibc.write(STDERR_FILENO, line, line.count)
  }
}
