import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Wait: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Waits until the reports of a process are stored, and prints their IDs.",
    discussion: """
      For scripts: what the process had written when crashctl was called is stored when it returns, all of it when the \
      process has ended. Exit code 1 when there is no report.
      """)

  @OptionGroup var connection: ConnectionOptions

  @Option(help: ArgumentHelp("How long to wait at most.", valueName: "seconds"))
  var timeout = 30

  @Argument(help: "The process.")
  var pid: Int

  func validate() throws {
    guard timeout > 0 else { throw ValidationError("--timeout takes a number of seconds, from 1") }
    guard pid > 0 else { throw ValidationError("'\(pid)' is no process") }
  }

  func run() throws {
    let outcome = try connection.ask { client throws(ClientError) in
      try client.awaitProcess(pid, timeout: .seconds(timeout))
    }
    guard outcome.settled else {
      throw Failure(.nothingFound, "what process \(pid) wrote is not stored after \(timeout) s: see crashctl status")
    }
    guard !outcome.reports.isEmpty else {
      throw Failure(
        .nothingFound,
        outcome.attached ? "process \(pid) left no report" : "process \(pid) was never attached to this crashd")
    }
    if connection.json != .off { return try connection.show(json: outcome) }
    try connection.show(outcome.reports.joined(separator: "\n") + "\n")
  }
}
