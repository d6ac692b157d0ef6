import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Doctor: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check that crashes will be captured and reports will be complete",
    discussion: """
      Without arguments the command checks crashd and the machine. With a pid it also checks that process and its \
      program. With --exe it also checks a program that does not run. It changes nothing. On a terminal it shows only \
      checks with findings. Exit code 1: a check found a fault, or cannot see whether the shield is started.

      A fault means that crashes will not be captured, such as a shield that is not started. A warning means that \
      reports will be incomplete, such as a program without symbols. Each finding says what to do. Only root and the \
      process's user see all facts of a process.

      The command tests the guards in crashctl itself. For a process it shows the result of the last \
      Shield.selfTest().
      """)

  @Flag(name: .shortAndLong, help: "Show also checks without findings")
  var verbose = false

  @Argument(help: "Pid of a process", completion: .custom(Completions.pids))
  var pid: Int?

  @Option(help: ArgumentHelp("Check this program or library", valueName: "file"), completion: .file())
  var exe: String?

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func validate() throws {
    if let pid, pid <= 0 { throw ValidationError("invalid pid '\(pid)'") }
  }

  func run() throws {
    let doctor = CrashControl.Doctor(
      client: connection.client, guards: GuardFacts.ownSelfTest(),
      clock: connection.terminal.clock)
    var parts: [(title: String, findings: [Finding])] = []
    if let pid {
      guard let findings = doctor.process(pid) else { throw Failure(.nothingFound, "there is no process \(pid)") }
      parts.append((title: "process \(pid)", findings: findings))
    }
    if let exe { parts.append((title: "program", findings: doctor.program(exe))) }
    // The findings about the machine come last. If the user named a process or program, its findings are more
    // important.
    parts.append((title: "machine", findings: doctor.machine()))
    if connection.json != .off {
      try connection.show(json: Dictionary(uniqueKeysWithValues: parts.map { ($0.title, $0.findings) }))
    } else {
      let terminal = connection.terminal
      try connection.show(Finding.text(parts, terminal: terminal, all: verbose || !terminal.isBrief))
    }
    if parts.contains(where: { $0.findings.contains { [.fault, .unknown].contains($0.level) } }) {
      throw Failure(.nothingFound, "")
    }
  }
}
