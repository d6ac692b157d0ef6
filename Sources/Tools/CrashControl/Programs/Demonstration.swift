internal import CLinux
internal import CrashClient
import CrashProtocol
internal import CrashReport
import Glibc
internal import LinuxSystem

/// Implements `demo`: crashes programs on purpose, and shows their reports.
public struct Demonstration: Sendable {
  private static let crashLimit_ms: Int32 = 60_000

  /// Scenarios (ways to crash) of the program crash-maker, and a description of each scenario.
  private static let scenarios = [
    ("array-index", "An array is read past its end: the report has the line of the trap, and the inlined frames."),
    ("task-deep-async", "The same, five awaits deep in a task: the async callers come from the task, not the stack."),
    ("null-write", "C code writes through a null pointer: the report interprets the address."),
    ("double-free", "A block is freed twice: the reason is glibc's message."),
    ("stack-overflow", "A function calls itself without end: the handler has its own stack, the recursion is folded."),
  ]

  let environment: [String: String]
  let terminal: Terminal

  /// Prepares to show reports on a terminal.
  public init(terminal: Terminal, environment: [String: String]) {
    self.terminal = terminal
    self.environment = environment
  }

  /// Runs one scenario after the other, and shows the reports.
  ///
  /// A signal ends the demonstration after the current scenario.
  /// - Throws: `Failure` when crashd or crash-maker cannot be started, or a crash was not reported.
  public func run() throws { try run(showAll) }

  func run(_ body: (SignalSet) throws -> Void) throws {
    let signals = SignalSet([SIGINT, SIGTERM, SIGHUP, SIGPIPE])
    let before = signals.block()
    try body(signals)
    // Re-raise a signal that ended the demonstration. SIGPIPE is the exception, because the write error has already
    // ended the demonstration.
    if let signal = signals.pending(), signal != SIGPIPE { cs_process_die_by(signal) }
    before.install()
  }

  private func showAll(until signals: SignalSet) throws {
    let daemon = try PrivateDaemon.start(keep: false, environment: environment)
    var reportedCount = 0
    for (index, scenario) in Self.scenarios.enumerated() {
      try Output.write(heading("\(index + 1) of \(Self.scenarios.count): \(scenario.0)") + scenario.1 + "\n\n")
      let ids = try crash(scenario.0, daemon).reports
      if signals.pending() != nil { return }
      let client = daemon.client
      for id in ids {
        let received = try ask { () throws(ClientError) in try client.report(id: id) }
        try Output.write(ReportText.text(received, terminal: terminal))
      }
      if ids.isEmpty { Output.complain("no report of '\(scenario.0)'") } else { reportedCount += 1 }
      try Output.write("\n")
    }
    try Output.write("\(reportedCount) of \(Self.scenarios.count) crashes reported.\n")
    guard reportedCount == Self.scenarios.count else { throw Failure(.nothingFound, "some crashes left no report") }
  }

  func heading(_ title: String) -> String {
    let rule = String(repeating: "─", count: max(0, (terminal.width ?? 80) - title.count - 4))
    return terminal.styled("── \(title) \(rule)", .bold) + "\n"
  }

  /// Runs crash-maker.
  /// - Returns: The pid of the crashed process, and the ids of its reports.
  func crash(
    _ name: String, _ daemon: borrowing PrivateDaemon
  ) throws(Failure) -> (pid: Int, reports: [String]) {
    // Invariant: open reads the path only during the call.
    let nothing = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nothing) }
    var settings = environment
    settings["CRASHSHIELD_SOCKET"] = daemon.attachPath
    settings["CRASHSHIELD_SPOOL"] = nil
    settings["CRASHSHIELD_DISABLE"] = nil
    // Disable Swift's own backtracer, because it would print a second report and run for seconds.
    settings["SWIFT_BACKTRACE"] = "enable=no"
    let maker: ChildProcess
    do throws(ChildProcess.StartError) {
      maker = try ChildProcess(
        Programs.find("crash-maker"), [name, "--wait-attached"],
        .init(standardInput: nothing, standardOutput: nothing, standardError: nothing, environment: settings))
    } catch {
      throw Failure(
        .nothingFound, "cannot run '\(error.file)' (\(SystemError.text(error.errno))): is it beside crashctl?")
    }
    if maker.wait(timeout_ms: Self.crashLimit_ms) == nil { maker.stop() }
    let client = daemon.client
    let pid = Int(maker.pid)
    return (pid, try ask { () throws(ClientError) in try client.awaitProcess(pid, timeout: .seconds(60)) }.reports)
  }

  func ask<Result>(_ call: () throws(ClientError) -> Result) throws(Failure) -> Result {
    do throws(ClientError) {
      return try call()
    } catch {
      throw Failure(error)
    }
  }
}
