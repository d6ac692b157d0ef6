import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Doctor: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Looks whether crashes would be seen, and reports be whole.",
    discussion: """
      Without arguments it looks at crashd and the machine; with a process at that and at its program; with --exe at a \
      program that does not run. It changes nothing. Exit code 1: there is a fault.

      Whether guards still absorb is asked in crashctl itself; of a process it says what its last Shield.selfTest() found.
      """)

  @OptionGroup var connection: ConnectionOptions

  @Argument(help: "A process.")
  var pid: Int?

  @Option(help: ArgumentHelp("A program or a library.", valueName: "file"), completion: .file())
  var exe: String?

  func validate() throws {
    if let pid, pid <= 0 { throw ValidationError("'\(pid)' is no process") }
  }

  func run() throws {
    let doctor = CrashControl.Doctor(client: connection.client, guards: GuardFacts.ownSelfTest())
    var parts = [(title: "machine", findings: doctor.machine())]
    if let pid {
      guard let findings = doctor.process(pid) else { throw Failure(.nothingFound, "there is no process \(pid)") }
      parts.append((title: "process \(pid)", findings: findings))
    }
    if let exe { parts.append((title: "program", findings: doctor.program(exe))) }
    if connection.json != .off {
      try connection.show(json: Dictionary(uniqueKeysWithValues: parts.map { ($0.title, $0.findings) }))
    } else {
      let texts = parts.map { Finding.text($0.findings, title: $0.title, terminal: connection.terminal) }
      try connection.show(texts.joined(separator: "\n"))
    }
    if parts.contains(where: { $0.findings.contains { $0.level == .fault } }) { throw Failure(.nothingFound, "") }
  }
}
