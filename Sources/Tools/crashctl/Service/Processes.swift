import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Processes: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the processes attached to crashd",
    discussion: """
      If a process is missing, crashctl doctor PID shows why. Users without full access see only their own processes.

      MEMORY tells how much memory (stacks, and memory around registers) reports contain: full, scrubbed (without \
      texts), none (the program's choice), withheld or discarded (by privacy.no-memory in crashd's settings).
      """)

  @OptionGroup var legend: LegendOptions

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    let processes = try connection.ask { client throws(ClientError) in try client.processes() }
    if connection.json != .off { try connection.show(json: processes) }
    guard !processes.isEmpty else {
      throw Failure(.nothingFound, "no process is attached to crashd at '\(connection.client.socketPath)'")
    }
    guard connection.json == .off else { return }
    let text = Listings.processes(processes, terminal: legend.terminal(connection), legend: !legend.hasNoLegend)
    try connection.show(text)
  }
}
