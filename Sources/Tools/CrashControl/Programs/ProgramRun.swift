internal import CLinux
internal import CrashClient
import CrashProtocol
import Glibc
internal import LinuxSystem

/// Implements `run`: runs a program under a private crashd.
public struct ProgramRun: Sendable {
  private static let settleLimit = Duration.seconds(60)

  private let command: [String]
  private let keepsDirectory: Bool
  private let style: JSONStyle
  private let environment: [String: String]

  /// Prepares to run a command: a program, which is searched in PATH, and its arguments.
  public init(command: [String], keepsDirectory: Bool, style: JSONStyle, environment: [String: String]) {
    self.command = command
    self.keepsDirectory = keepsDirectory
    self.style = style
    self.environment = environment
  }

  /// Runs the program, prints its reports on standard error, and ends this process with the program's exit status or
  /// signal.
  ///
  /// Only the program uses standard input and output. The terminal sends its signals to the program directly. crashctl
  /// forwards signals that other processes send to crashctl.
  /// - Throws: `Failure` if crashd or the program cannot be started. The exit codes 127 and 126 have the same meaning
  ///   as in a shell.
  public func runAndEndAlike() throws -> Never {
    try runAndReport().endAlike()
  }

  private func runAndReport() throws -> ChildProcess.End {
    guard let file = command.first else { throw Failure(.usage, "run needs a program: crashctl run -- PROGRAM ARGS…") }
    let signals = SignalSet([SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGCHLD])
    let before = signals.block()
    let daemon = try PrivateDaemon.start(keep: keepsDirectory, environment: environment)

    var settings = environment
    settings["CRASHSHIELD_SOCKET"] = daemon.attachPath
    settings["CRASHSHIELD_SPOOL"] = nil
    // CRASHSHIELD_EARLY makes a constructor start the shield. A program that contains the shield therefore also records
    // crashes before its call of Shield.start(). In a program that does not contain the shield, the preloaded library
    // starts the shield.
    settings["CRASHSHIELD_EARLY"] = environment["CRASHSHIELD_EARLY"] ?? "1"
    // With CRASHSHIELD_FORK, the forked workers of a server attach as well.
    settings["CRASHSHIELD_FORK"] = environment["CRASHSHIELD_FORK"] ?? "1"
    if let library = Programs.preloadedLibrary(environment) {
      settings["LD_PRELOAD"] = [library, environment["LD_PRELOAD"] ?? ""].filter { !$0.isEmpty }.joined(separator: ":")
    }
    let program: ChildProcess
    do throws(ChildProcess.StartError) {
      program = try ChildProcess(
        file, Array(command.dropFirst()), .init(environment: settings, signalMask: before))
    } catch {
      throw error.failure
    }
    let end = Self.wait(for: program, signals, daemon: daemon.pid)
    try report(program, end, daemon)
    if keepsDirectory { Output.complain("kept '\(daemon.directory)'") }
    return end
  }

  private static func wait(for program: ChildProcess, _ signals: SignalSet, daemon: pid_t) -> ChildProcess.End {
    while true {
      let (signal, isSent) = signals.next()
      if signal == SIGCHLD {
        reapOrphans(except: [program.pid, daemon])
        if let end = program.endIfOver() { return end }
      } else if isSent {
        kill(program.pid, signal)
      }
    }
  }

  /// Reaps the orphans that this process adopted as the first process of a container.
  ///
  /// The function stops at the first ended process that is in `children`, because another function must reap this
  /// process.
  private static func reapOrphans(except children: Set<pid_t>) {
    while true {
      let pid = cs_process_ended_child()
      guard pid > 0, !children.contains(pid), waitpid(pid, nil, WNOHANG) == pid else { return }
    }
  }

  private func report(_ program: ChildProcess, _ end: ChildProcess.End, _ daemon: borrowing PrivateDaemon) throws {
    let client = daemon.client
    do throws(ClientError) {
      let outcome = try client.awaitProcess(Int(program.pid), timeout: Self.settleLimit)
      // Also wait for the reports of ended processes that the program started, because these processes can have
      // crashed, too.
      for other in try client.processes() where kill(pid_t(truncatingIfNeeded: other.pid), 0) != 0 {
        _ = try client.awaitProcess(other.pid, timeout: Self.settleLimit)
      }
      let summaries = try ReportQuery.fetch(ListQuery(), from: client)
      var reports: [ReceivedReport] = []
      for summary in summaries.reversed() { reports.append(try client.report(id: summary.id)) }
      print(reports)
      if reports.isEmpty { explainSilence(outcome, end) }
    } catch {
      // Print the error and keep the program's exit status, which is more important to the caller than a missing
      // report.
      Output.complain(Failure(error).message)
    }
  }

  private func print(_ reports: [ReceivedReport]) {
    let terminal = Terminal(descriptor: STDERR_FILENO, environment: environment)
    do {
      for received in reports {
        let isText = style == .off
        let text = try isText ? "\n" + ReportText.text(received, terminal: terminal) : style.text(received.json)
        try Output.write(text, to: STDERR_FILENO)
      }
    } catch {
      Output.complain("cannot print the report: \(error)")
    }
  }

  private func explainSilence(_ outcome: ProcessOutcome, _ end: ChildProcess.End) {
    let name = command.first ?? ""
    if !outcome.attached {
      let isPreloaded = Programs.preloadedLibrary(environment) != nil
      let question = isPreloaded ? "is the program static or setuid?" : "does the program call Shield.start()?"
      Output.complain("'\(name)' never attached to crashd: \(question)")
    } else if !outcome.settled {
      Output.complain("crashd did not finish the reports of '\(name)' in time; see --keep")
    } else if case .signaled(let signal) = end {
      Output.complain("'\(name)' was ended by signal \(signal), without a report\(Self.reason(for: signal))")
    }
  }

  /// Returns the reason why a process that ended by this signal has no report.
  private static func reason(for signal: Int32) -> String {
    switch signal {
    case SIGKILL: ": no handler can catch it"
    case SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP, SIGFPE, SIGSYS:
      ": the program's own handler handled it, or no handler could run"
    default: ": it is not the signal of a crash"
    }
  }
}
