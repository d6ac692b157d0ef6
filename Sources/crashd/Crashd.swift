// The daemon's command line: options, logging, and a call.
public import ArgumentParser
import CrashDaemon
import Glibc
public import Logging

@main
struct Crashd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "crashd",
    abstract: "Keeps the crash reports of the Swift processes on this machine.",
    discussion: """
      Processes that use CrashShield attach to DIR/attach, clients such as crashctl connect to \
      DIR/io.crashshield.Crashd. Without options crashd uses systemd's directories, else /run/crashd and \
      /var/lib/crashd for root, else those of the user (XDG_RUNTIME_DIR, XDG_STATE_HOME).

      CRASHD_DEBUGINFOD_URLS names debuginfod's servers, in the order in which they are asked for the debug information \
      of images that have none: when a process attaches, never when it crashes. Nobody is asked when it is not set.
      """,
    version: Daemon.version)

  @Option(help: ArgumentHelp("Where the sockets and the spool are.", valueName: "dir"))
  var runtimeDirectory: String?

  @Option(help: ArgumentHelp("Where reports and symbol caches are kept.", valueName: "dir"))
  var stateDirectory: String?

  @Option(help: ArgumentHelp("The crash-analyse to use, instead of the one beside crashd.", valueName: "path"))
  var analysePath: String?

  @Option(
    help: ArgumentHelp(
      "debuginfod's servers, between spaces, instead of those in CRASHD_DEBUGINFOD_URLS.", valueName: "urls"))
  var debuginfodUrls: String?

  @Option(help: ArgumentHelp("The crash-fetch to use, instead of the one beside crashd.", valueName: "path"))
  var fetchPath: String?

  @Flag(
    name: .customLong("automatic-protection"),
    help: "Protect classes by itself when uses of dead objects make a program crash more often than usual.")
  var allowsAutomaticProtection = false

  @Option(help: ArgumentHelp("What to log: trace, debug, info, notice, warning, error, critical.", valueName: "level"))
  var logLevel: Logger.Level = .info

  /// ArgumentParser's own main would leave with 64 (EX_USAGE) for a usage error; ours is 2, as for the other commands.
  static func main() async {
    do {
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
    } catch {
      let code = exitCode(for: error)
      guard code == .validationFailure else { exit(withError: error) }
      complain(fullMessage(for: error).replacing("Error: ", with: "", maxReplacements: 1))
      Glibc.exit(2)
    }
  }

  mutating func validate() throws {
    for path in [runtimeDirectory, stateDirectory, analysePath, fetchPath] where path?.isEmpty == true {
      throw ValidationError("a path must not be empty")
    }
  }

  func run() async throws {
    let environment = Self.environment()
    let level = logLevel
    let isJournal = environment["JOURNAL_STREAM"] != nil
    LoggingSystem.bootstrap { _ in StandardErrorLog(level: level, isJournal: isJournal) }
    do {
      let daemon = try Daemon(configuration(environment), logger: Logger(label: "crashd"))
      try await daemon.run()
    } catch {
      Self.complain("\(error)")
      throw ExitCode(1)
    }
  }

  private func configuration(_ environment: [String: String]) throws -> DaemonConfiguration {
    let standard = Directories.standard(environment: environment, user: geteuid())
    guard let runtime = runtimeDirectory ?? standard?.runtime, let state = stateDirectory ?? standard?.state else {
      throw ValidationError(
        "no directory to use: give --runtime-directory and --state-directory, or set XDG_RUNTIME_DIR")
    }
    return DaemonConfiguration(
      directories: Directories(runtime: runtime, state: state), analysePath: analysePath, fetchPath: fetchPath,
      debuginfodURLs: try servers(environment), environment: environment,
      allowsAutomaticProtection: allowsAutomaticProtection)
  }

  private func servers(_ environment: [String: String]) throws -> [String] {
    let text = debuginfodUrls ?? environment["CRASHD_DEBUGINFOD_URLS"] ?? ""
    let urls = text.split(separator: " ").map(String.init)
    if let url = urls.first(where: { !$0.hasPrefix("http://") && !$0.hasPrefix("https://") }) {
      throw ValidationError("'\(url)' is no URL of a debuginfod: it begins neither with http:// nor with https://")
    }
    guard urls.count <= DaemonConfiguration.debuginfodLimit else {
      throw ValidationError("more than \(DaemonConfiguration.debuginfodLimit) servers of debuginfod")
    }
    return urls
  }

  private static func environment() -> [String: String] {
    let names = [
      "RUNTIME_DIRECTORY", "STATE_DIRECTORY", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "HOME", "NOTIFY_SOCKET",
      "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "JOURNAL_STREAM", "CRASHD_DEBUGINFOD_URLS",
    ]
    var environment: [String: String] = [:]
    for name in names {
      // getenv's string stays as long as nobody changes the environment, and nobody here does.
      if let value = unsafe getenv(name) { environment[name] = unsafe String(cString: value) }
    }
    return environment
  }

  static func complain(_ text: String) {
    let line = Array("crashd: \(text)\n".utf8)
    // write reads as many bytes as the array has.
    _ = unsafe write(STDERR_FILENO, line, line.count)
  }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
