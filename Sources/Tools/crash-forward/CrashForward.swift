// Parses the program's command line and its settings, and runs the forwarder.
import ArgumentParser
import CBuildCommit
import CrashClient
import CrashProtocol
import CrashSettings
import Glibc
import LinuxSystem

@main
struct CrashForward: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "crash-forward",
    abstract: "Forward crash reports to the systemd journal, Sentry, OpenTelemetry, webhooks and a fleet",
    discussion: """
      Each sink receives every report at least once, and resumes after its last acknowledged report. Settings come \
      from a YAML or JSON file, by default $CONFIGURATION_DIRECTORY/crash-forward.yaml or \
      /etc/crashd/crash-forward.yaml, and from variables such as CRASH_FORWARD_SENTRY_ENVIRONMENT. Secrets come from \
      separate files, or from CRASH_FORWARD_SENTRY_DSN, CRASH_FORWARD_OTLP_HEADERS, CRASH_FORWARD_WEBHOOK_URL, \
      CRASH_FORWARD_WEBHOOK_HEADERS and CRASH_FORWARD_FLEET_TOKEN. Proxies come from the environment (https_proxy, no_proxy).

      The service logs why it waits or drops a report, and systemctl status crash-forward shows the numbers of sent, \
      refused and lost reports. crashctl subscribers shows what each sink still has to send. A new sink starts with \
      the next crash. To test it, crash a program on purpose with crash-maker.

      Exit codes: 0 stopped by SIGTERM or SIGINT, or no sink is enabled, 1 failed, 2 wrong usage or settings.

      Examples:
        # Send reports to Sentry: type the DSN, then Ctrl-D
        install -m 600 -o crashd /dev/stdin /etc/crashd/sentry-dsn
        # In /etc/crashd/crash-forward.yaml: sentry: {dsn-file: /etc/crashd/sentry-dsn}
        crash-forward --check-config
        systemctl enable crash-forward
        systemctl restart crash-forward
        # Test it with a program of the package swift-crash-shield-tools
        crash-maker array-index --wait-attached
        systemctl status crash-forward          # sentry: 1 sent
      """,
    // Invariant: the C string has static storage duration.
    version: ProductVersion.line(of: "crash-forward", commit: unsafe String(cString: cs_build_commit())))

  @Option(help: ArgumentHelp("Read settings from this file", valueName: "file"), completion: .file())
  var config: String?

  @Flag(help: "Check the settings, print them without secrets, and exit")
  var checkConfig = false

  /// Exits with 2 for a usage error, like crashd and crashctl.
  ///
  /// The `main` of ArgumentParser would exit with 64 (EX_USAGE).
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
        _ = try settings.fleetIdentity()
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
    // Block the signals before any thread starts, because threads inherit the signal mask.
    var signals = sigset_t()
    // Invariant: each of these functions uses the pointer to the set only during the call.
    unsafe sigemptyset(&signals)
    for signal in [SIGTERM, SIGINT] { unsafe sigaddset(&signals, signal) }
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    signal(SIGPIPE, SIG_IGN)

    let notifier = Notifier(environment: environment, timeout_ms: 1_000)
    var settings = settings
    // systemd separates several directories with colons.
    settings.stateDirectory =
      settings.stateDirectory ?? environment["STATE_DIRECTORY"].map { String($0.prefix { $0 != ":" }) }
    let path = settings.crashdSocket ?? SocketPath.find(option: nil, environment: environment)
    let forwarder = try CrashForwarder(
      settings, client: CrashClient(socketPath: path), stop: try StopSignal(),
      board: SinkBoard { notifier.send("STATUS=\($0)") }, log: log(settings, environment))
    notifier.send("READY=1")
    if forwarder.isIdle {
      log(settings, environment)(
        .notice, "nothing to do: set journal.enabled, sentry.dsn-file, otlp.endpoint, webhook.url-file or fleet.url")
      return
    }
    try forwarder.run {
      var signal: Int32 = 0
      // Invariant: sigwait uses both pointers only during the call.
      while unsafe sigwait(&signals, &signal) != 0 {}
      notifier.send("STOPPING=1")
    }
  }
}
