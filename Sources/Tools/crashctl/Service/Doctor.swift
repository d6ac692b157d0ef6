import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Doctor: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check that crashes will be captured and reports will be complete",
    discussion: """
      Without arguments it checks crashd and the machine; with a pid also that process and its program; with --exe also a \
      program that does not run. It changes nothing. Exit code 1: a check found a fault.

      It tests the guards in crashctl itself; of a process it shows the result of the last Shield.selfTest().
      """)

  @OptionGroup var connection: ConnectionOptions

  @Argument(help: "Pid of a process")
  var pid: Int?

  @Option(help: ArgumentHelp("Check this program or library", valueName: "file"), completion: .file())
  var exe: String?

  func validate() throws {
    if let pid, pid <= 0 { throw ValidationError("invalid pid '\(pid)'") }
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
