import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Status: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show crashd's health and losses",
    discussion: """
      The first line is the verdict: OK, INCOMPLETE (crashd lost data since it started) or DEGRADED (crashd cannot \
      store reports as it should). The exit status is 0 for each verdict.
      """)

  @Flag(name: .shortAndLong, help: "Show also crashd's internal counters")
  var verbose = false

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    let status = try connection.ask { client throws(ClientError) in try client.status() }
    if connection.json != .off { return try connection.show(json: status) }
    let path = connection.client.socketPath
    try connection.show(
      StatusText.text(status, socketPath: path, terminal: connection.terminal, verbose: verbose))
  }
}
