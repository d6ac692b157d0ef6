// Parses the program's command line.
import ArgumentParser
import CrashPages
import CrashProtocol
import CrashReport
import SettingsFiles
import FleetStore
import Glibc
import LinuxSystem

@main
struct CrashFleet: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "crash-fleet",
    abstract: "Store the crash reports of many machines in PostgreSQL",
    discussion: """
      Hosts send their crashes with crash-forward (its sink 'fleet'). Settings come from a YAML or JSON file, by \
      default $CONFIGURATION_DIRECTORY/crash-fleet.yaml or /etc/crash-fleet/crash-fleet.yaml, and from variables such \
      as CRASH_FLEET_LISTEN_PORT. docs/fleet.md describes the service.

      Exit codes: 0 success, 1 failed, 2 wrong usage or settings.

      Examples:
        crash-fleet --check-config
        crash-fleet migrate
        crash-fleet token add shop --name web-hosts
        crash-fleet token add shop --name web-1 --certificate web-1.pem
        crash-fleet serve
        crash-fleet doctor
        crash-fleet ask report 12 --tenant shop
        crash-fleet web --tenant shop
      """,
    version: ProductVersion.line(of: "crash-fleet", commit: ""),
    subcommands: [Serve.self, Migrate.self, Doctor.self, Token.self, Issues.self, AskHosts.self, Web.self])

  @OptionGroup var settings: SettingsOptions

  @Flag(help: "Check the settings, print them without secrets, and exit")
  var checkConfig = false

  func run() async throws {
    guard checkConfig else { throw CleanExit.helpRequest(self) }
    let settings = try settings.read()
    _ = try settings.tlsListener()
    print(FleetSettings.table(credentials: nil).text(settings), terminator: "")
  }

  /// Exits with 2 for a usage error, like crashd and crashctl.
  static func main() async {
    do {
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
    } catch {
      let code = exitCode(for: error)
      if error is SettingsError || code == .validationFailure {
        complain(error is SettingsError ? "\(error)" : fullMessage(for: error).replacing("Error: ", with: ""))
        Glibc.exit(2)
      }
      if error is FleetError || error is Failure || error is AskProblem || error is StartFailure {
        complain("\(error)")
        Glibc.exit(1)
      }
      exit(withError: error)
    }
  }

  static func complain(_ text: String) { fputs("crash-fleet: \(CleanText.clean(text))\n") }

  /// Writes a line to standard error with one call of write(), so that lines of several threads do not mix.
  private static func fputs(_ line: String) {
    let bytes = Array(line.utf8)
    // Invariant: write reads as many bytes as the array has.
    _ = unsafe Glibc.write(STDERR_FILENO, bytes, bytes.count)
  }
}

/// The options that every command has.
struct SettingsOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Read settings from this file", valueName: "file"), completion: .file())
  var config: String?

  /// Reads the settings from the file and from the environment.
  func read() throws(SettingsError) -> FleetSettings {
    let environment = processEnvironment()
    let table = FleetSettings.table(credentials: environment["CREDENTIALS_DIRECTORY"])
    var settings = FleetSettings()
    let named = config ?? environment["CRASH_FLEET_CONFIG"]
    if let file = SettingsPlace.file("crash-fleet.yaml", named: named, environment, else: "/etc/crash-fleet") {
      try table.read(file: file, into: &settings)
    }
    try table.read(environment: environment, into: &settings)
    try settings.readUsualDatabase(environment)
    return settings
  }

  /// Opens the store, runs the body, and closes the store.
  func withStore<Value>(_ body: (FleetStore) async throws -> Value) async throws -> Value {
    let store = FleetStore(try read().storeConfiguration)
    do {
      let value = try await body(store)
      await store.close()
      return value
    } catch {
      await store.close()
      throw error
    }
  }
}
