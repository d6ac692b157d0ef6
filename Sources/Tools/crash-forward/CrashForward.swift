// The program's command line: options, settings, and a call.
import ArgumentParser
import CrashClient
import CrashProtocol
import CrashSettings
import Glibc
import LinuxSystem

@main
struct CrashForward: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "crash-forward",
    abstract: "Sends crashd's reports on: to the systemd journal, Sentry, an OpenTelemetry collector.",
    discussion: """
      Each of them gets every report at least once, from where it was the last time. The settings are a file of YAML or \
      JSON, by default $CONFIGURATION_DIRECTORY/crash-forward.yaml or /etc/crashd/crash-forward.yaml, and variables such \
      as CRASH_FORWARD_SENTRY_ENVIRONMENT; secrets stand in files of their own, or in CRASH_FORWARD_SENTRY_DSN and \
      CRASH_FORWARD_OTLP_HEADERS. Proxies are those of the environment (https_proxy, no_proxy).

      Exit codes: 0 stopped by SIGTERM or SIGINT, 1 failed, 2 wrong usage or settings.
      """,
    version: "0.1.0")

  @Option(help: ArgumentHelp("The settings.", valueName: "file"), completion: .file())
  var config: String?

  @Flag(help: "Say whether the settings are good, print them all without secrets, and do nothing else.")
  var checkConfig = false

  /// ArgumentParser's own main would leave with 64 (EX_USAGE) for a usage error; ours is 2, as for the other commands.
  static func main() {
    do {
      let command = try parseAsRoot()
      guard let command = command as? CrashForward else {
        var command = command
        return try command.run()
      }
      Glibc.exit(command.forward())
    } catch {
      let code = exitCode(for: error)
      guard code == .validationFailure else { exit(withError: error) }
      complain(fullMessage(for: error).replacing("Error: ", with: "", maxReplacements: 1))
      Glibc.exit(2)
    }
  }

  private func forward() -> Int32 {
    let environment = processEnvironment()
    let settings: ForwardSettings
    do throws(SettingsError) {
      var reader = ForwardSettingsReader(credentials: environment["CREDENTIALS_DIRECTORY"])
      let named = config ?? environment["CRASH_FORWARD_CONFIG"]
      if let file = SettingsPlace.file("crash-forward.yaml", named: named, environment, else: "/etc/crashd") {
        try reader.read(file: file)
      }
      try reader.read(environment: environment)
      settings = reader.settings
      if checkConfig {
        print(ForwardSettingsReader.text(settings), terminator: "")
        return 0
      }
    } catch {
      Self.complain("\(error)")
      return 2
    }
    do {
      try run(settings, environment)
      return 0
    } catch {
      Self.complain("\(error)")
      return error is SettingsError ? 2 : 1
    }
  }

  private func run(_ settings: ForwardSettings, _ environment: [String: String]) throws {
    // Before there are threads: they are to have it so, too.
    var signals = sigset_t()
    // Each call changes or reads one set.
    unsafe sigemptyset(&signals)
    for signal in [SIGTERM, SIGINT] { unsafe sigaddset(&signals, signal) }
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    signal(SIGPIPE, SIG_IGN)

    let notifier = Notifier(environment: environment, timeout_ms: 1_000)
    let path = settings.crashdSocket ?? SocketPath.find(option: nil, environment: environment)
    let forwarder = try CrashForwarder(
      settings, client: CrashClient(socketPath: path), stop: try StopSignal(),
      board: SinkBoard { notifier.send("STATUS=\($0)") }, log: log(settings, environment))
    notifier.send("READY=1")
    try forwarder.run {
      var signal: Int32 = 0
      // One number is written.
      while unsafe sigwait(&signals, &signal) != 0 {}
      notifier.send("STOPPING=1")
    }
  }
}
