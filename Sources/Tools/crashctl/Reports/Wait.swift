import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Wait: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Wait until the reports of a process are stored, and print their ids",
    discussion: """
      For scripts: when the command returns, crashd has stored all crashes that the process had recorded before the \
      call. If the process has ended, these are all its crashes. Exit code 1: there is no report, \
      or the time is over.
      """)

  @Option(help: ArgumentHelp("Wait at most this long", valueName: "seconds"))
  var timeout = 30

  @Argument(help: "Pid of the process")
  var pid: Int

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func validate() throws {
    guard timeout > 0 else {
      throw ValidationError("invalid value '\(timeout)' for --timeout: it takes seconds from 1")
    }
    guard pid > 0 else { throw ValidationError("invalid pid '\(pid)'") }
  }

  func run() throws {
    let outcome = try connection.ask { client throws(ClientError) in
      try client.awaitProcess(pid, timeout: .seconds(timeout))
    }
    guard outcome.settled else {
      throw Failure(
        .nothingFound, "the crashes of process \(pid) are not stored after \(timeout) s: see crashctl status")
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
