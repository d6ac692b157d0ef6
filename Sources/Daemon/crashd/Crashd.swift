// The command line of the daemon: parses the options, sets up logging, and runs the daemon.
public import ArgumentParser
import CBuildCommit
import CrashDaemon
import CrashProtocol
import CrashSettings
import Glibc
import LinuxSystem
public import Logging

@main
struct Crashd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "crashd",
    abstract: "Store the crash reports of the Swift processes on this machine",
    discussion: """
      Processes that use CrashShield connect to the socket 'attach' in the runtime directory, and clients such as \
      crashctl to the socket 'io.crashshield.Crashd'. Without options and settings, crashd uses systemd's directories. \
      Without those, it uses /run/crashd and /var/lib/crashd for root, and the user's directories (XDG_RUNTIME_DIR, \
      XDG_STATE_HOME) for other users.

      Settings come from a file, from environment variables such as CRASHD_RETENTION_AGE, and from the command line \
      (--set, and the options that have the name of a setting). Variables override the file, and the command line \
      overrides both. The setting forward, a list of collectors that get a copy of each report, is accepted only in \
      the file.

      Root, the user that crashd runs as, and members of access.group (by default the group crashd) can see and change \
      all reports. Other users can see and change only the reports of their own processes.

      Symbols come from the program itself, else from debug files below /usr/lib/debug and beside the program, else \
      from debuginfod servers. CRASHD_DEBUGINFOD_URLS lists servers in the order in which crashd asks them. crashd \
      requests debug information when a process attaches with images that lack it, and never when a process crashes. \
      Without this variable or the setting debuginfod-urls, crashd asks no server.
      """,
    version: ProductVersion.line(of: "crashd", commit: commit))

  /// The pointer is valid, because the C string is a constant in the program's image.
  private static let commit = unsafe String(cString: cs_build_commit())

  @Option(help: ArgumentHelp("Directory of the sockets and the spool", valueName: "dir"))
  var runtimeDirectory: String?

  @Option(help: ArgumentHelp("Directory of reports and symbol caches", valueName: "dir"))
  var stateDirectory: String?

  @Option(help: ArgumentHelp("Use this crash-analyse instead of the installed one", valueName: "path"))
  var analysePath: String?

  @Option(
    help: ArgumentHelp(
      "Use these debuginfod servers (separated by spaces) instead of those in the settings", valueName: "urls"))
  var debuginfodUrls: String?

  @Option(help: ArgumentHelp("Use this crash-fetch instead of the installed one", valueName: "path"))
  var fetchPath: String?

  @Flag(
    name: .customLong("automatic-protection"),
    help: "Protect classes automatically when use-after-free crashes become more frequent")
  var allowsAutomaticProtection = false

  @Option(help: ArgumentHelp("Log level: trace, debug, info, notice, warning, error, critical", valueName: "level"))
  var logLevel: Logger.Level?

  @Option(
    help: ArgumentHelp(
      "Read settings from this YAML or JSON file (default: $CRASHD_CONFIG, else $CONFIGURATION_DIRECTORY/crashd.yaml if "
        + "it exists; for --check-config also /etc/crashd/crashd.yaml)",
      valueName: "file"))
  var config: String?

  @Option(help: ArgumentHelp("Set one setting, such as retention.age=7d; repeatable", valueName: "key=value"))
  var set: [String] = []

  @Flag(help: "Check and print the settings, and exit")
  var checkConfig = false

  /// Runs the command, and exits with the status 2 after a usage error, as the other commands of this project do.
  ///
  /// The method `main` of ArgumentParser would exit with 64 (EX_USAGE).
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
    let environment = processEnvironment()
    let (config, isCheck, set, options) = (config, checkConfig, set, options)
    let read: @Sendable () throws(SettingsError) -> Settings = { () throws(SettingsError) in
      var reader = SettingsReader()
      // Determine the settings file each time the settings are read, because the file can be created while crashd runs.
      // If an operator runs `crashd --check-config`, the environment variables that systemd sets are missing.
      // Therefore, this command also tries the settings file of the systemd service.
      let named = config ?? environment["CRASHD_CONFIG"]
      let file = SettingsPlace.file("crashd.yaml", named: named, environment, else: isCheck ? "/etc/crashd" : nil)
      if let file { try reader.read(file: file) }
      try reader.read(environment: environment)
      for argument in set { try reader.read(argument: argument) }
      for option in options { try reader.read(option: option.name, option.value) }
      return reader.settings
    }
    let settings: Settings
    do throws(SettingsError) { settings = try read() } catch {
      Self.complain(error.description)
      throw ExitCode(2)
    }
    if checkConfig { return try Self.show(settings) }
    // Ignore SIGHUP until crashd handles it, because its default action would end crashd. No change is missed, because
    // the settings were just read.
    signal(SIGHUP, SIG_IGN)
    let level = settings.logLevel.flatMap { Logger.Level(rawValue: $0) } ?? .info
    let isJournal = environment["JOURNAL_STREAM"] != nil
    LoggingSystem.bootstrap { _ in StandardErrorLog(level: level, isJournal: isJournal) }
    do {
      var configuration = try configuration(environment, settings)
      configuration.readSettings = read
      let daemon = try Daemon(configuration, logger: Logger(label: "crashd"))
      try await daemon.run()
    } catch {
      Self.complain("\(error)")
      throw ExitCode(1)
    }
  }

  /// The command-line options that have the same name as a setting.
  private var options: [(name: String, value: String)] {
    var options: [(name: String, value: String)] = []
    if let logLevel { options.append(("log-level", logLevel.rawValue)) }
    if let debuginfodUrls { options.append(("debuginfod-urls", debuginfodUrls)) }
    if allowsAutomaticProtection { options.append(("automatic-protection", "true")) }
    return options
  }

  /// Checks and prints the settings, for `--check-config`.
  ///
  /// The access group is also checked, because a valid setting can name a group that does not exist on this machine.
  private static func show(_ settings: Settings) throws(ExitCode) {
    do throws(AccessGroup.Problem) { try settings.accessGroup.check() } catch {
      complain("access.group: \(error)")
      throw ExitCode(2)
    }
    print(SettingsReader.text(settings), terminator: "")
  }

  private func configuration(_ environment: [String: String], _ settings: Settings) throws -> DaemonConfiguration {
    let standard = Directories.standard(environment: environment, user: geteuid())
    guard let runtime = runtimeDirectory ?? settings.runtimeDirectory ?? standard?.runtime,
      let state = stateDirectory ?? settings.stateDirectory ?? standard?.state
    else {
      throw ValidationError(
        "no directory to use: give --runtime-directory and --state-directory, or set XDG_RUNTIME_DIR")
    }
    return DaemonConfiguration(
      directories: Directories(runtime: runtime, state: state), analysePath: analysePath ?? settings.analysePath,
      fetchPath: fetchPath ?? settings.fetchPath, debuginfodURLs: settings.debuginfodURLs, environment: environment,
      settings: settings, allowsAutomaticProtection: settings.protectsAutomatically, commit: Self.commit)
  }

  static func complain(_ text: String) {
    let line = Array("crashd: \(text)\n".utf8)
    // write reads `line.count` bytes, which is the size of the array.
    _ = unsafe write(STDERR_FILENO, line, line.count)
  }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
